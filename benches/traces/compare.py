#!/usr/bin/env python3
"""Runs the Velox trace cases on Ocior and on Velox, in alternation, on files of scale factor 1, and prints a table.

    python3 benches/traces/compare.py OCIOR --velox PYTHON [--shared DIR] [--data DIR] [--work DIR]
                                      [--only TEXT] [--repeat 7] [--rounds 2] [--drivers 1] [--json FILE]

OCIOR is the path of the program. PYTHON is the path of a Python with pyvelox 0.2.0 and pyarrow 19 (the README.md of the
cases describes how to install it); without --velox only Ocior runs. The cases are in velox-traces in the directory of
--shared, which is $OCIOR_SHARED by default. The directory of --data contains lineitem.parquet and orders.parquet of
scale factor 1, which replace the small ones of the cases; every other file is enlarged by repeating its rows. Derived
cases and files are kept in the directory of --work and reused.

Both engines run the same derived case: the same plan on the same splits, whose byte ranges are scaled with their files.
Each engine runs in its own process, which runs the case --repeat times; the first run is a warm-up, and the result is
the best time of the other runs over all rounds. Ocior's time is measured from the start of the query to the last batch
with all columns decoded, Velox's from execute() to the last batch. With --cpu, the time per run is the user time of a
process with --repeat additional runs minus that of a process with a single run, divided by --repeat. Rows are compared
as check_plans.py does; of results with more than --compare rows, only the numbers of rows are compared.
"""
import argparse, json, math, os, shutil, subprocess, sys

CHUNK = 100_000         # rows per row group of generated files
BIG = ('lineitem.parquet', 'orders.parquet')


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('ocior')
    ap.add_argument('--velox', metavar='PYTHON', help='a Python with pyvelox')
    ap.add_argument('--shared', default=os.environ.get('OCIOR_SHARED', '../shared'))
    ap.add_argument('--data', help='folder with lineitem.parquet and orders.parquet')
    ap.add_argument('--work', default='target/trace-cases', help='where derived cases are kept')
    ap.add_argument('--only', default='', help='cases whose name contains this')
    ap.add_argument('--factor', type=int, default=1000, help='how often rows of other files are repeated')
    ap.add_argument('--repeat', type=int, default=7)
    ap.add_argument('--rounds', type=int, default=2)
    ap.add_argument('--drivers', type=int, default=1)
    ap.add_argument('--cpu', action='store_true', help='processor time instead of wall time, for busy machines')
    ap.add_argument('--compare', type=int, default=200_000, help='rows up to which all values are compared')
    ap.add_argument('--json', help='write the figures to this file')
    args = ap.parse_args()
    cases = os.path.join(args.shared, 'velox-traces')
    if not os.path.isdir(cases):
        sys.exit(f'no cases at {cases}: set OCIOR_SHARED or --shared')
    sys.path[:0] = [os.path.join(args.shared, 'hive-cases'), cases]
    results = []
    print(f'{"case":30s}{"rows":>10s}  {"rows equal":12s}{"ocior ms":>10s}{"velox ms":>10s}{"ratio":>8s}')
    for name in sorted(os.listdir(cases)):
        source = os.path.join(cases, name)
        if args.only in name and os.path.exists(os.path.join(source, 'case.json')):
            case = derived(source, args)
            results.append(race(name, case, args, os.path.join(cases, 'velox_run.py')))
            show(results[-1])
    told = [r for r in results if r.get('ratio')]
    if told:
        mean = math.exp(sum(math.log(r['ratio']) for r in told) / len(told))
        slowest = min(told, key=lambda r: r['ratio'])
        print(f'\ngeometric mean of {len(told)} ratios: {mean:.2f}; least: {slowest["ratio"]:.2f} ({slowest["case"]})')
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(results, f, indent=1)
    sys.exit(any(r['equal'].startswith('no') for r in results))


def show(r):
    text = lambda x, form: format(x, form) if x is not None else '-'
    print(f'{r["case"]:30s}{text(r["rows"], "d"):>10s}  {r["equal"]:12s}{text(r["ocior_ms"], ".2f"):>10s}'
          f'{text(r["velox_ms"], ".2f"):>10s}{text(r["ratio"], ".2f"):>8s}', flush=True)


# ---------------------------------------------------------------- larger files

def derived(source, args):
    """Derives a case from `source` that reads larger files, and returns its directory."""
    case = os.path.join(args.work, os.path.basename(source))
    if os.path.exists(os.path.join(case, 'case.json')):
        return case
    os.makedirs(case, exist_ok=True)
    with open(os.path.join(source, 'case.json')) as f:
        meta = json.load(f)
    for splits in meta['splits'].values():
        for split in splits:
            small = split['filePath'].removeprefix('file:').replace('${CASE}', os.path.abspath(source))
            big = larger(small, meta, args)
            if split['length'] >= 0:
                stretch = os.path.getsize(big) / os.path.getsize(small)
                end = math.ceil((split['start'] + split['length']) * stretch)
                split['start'] = math.ceil(split['start'] * stretch)
                split['length'] = end - split['start']
            split['filePath'] = 'file:' + big
            if 'fileSize' in (split.get('properties') or {}):
                split['properties']['fileSize'] = None
    shutil.copy(os.path.join(source, 'plan.json'), case)
    with open(os.path.join(case, 'case.json'), 'w') as f:
        json.dump(meta, f)
    return case


def larger(small, meta, args):
    """Returns the path of the file that replaces `small`: the one of --data, or a new one with its rows repeated."""
    name = os.path.basename(small)
    given = os.path.join(args.data or '', name)
    if args.data and name in BIG and os.path.exists(given):
        return os.path.abspath(given)
    big = os.path.abspath(os.path.join(args.work, 'data', name))
    if os.path.exists(big):
        return big
    import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc, random
    os.makedirs(os.path.dirname(big), exist_ok=True)
    old = pq.ParquetFile(small)
    table, codec = old.read(), old.metadata.row_group(0).column(0).compression
    is_int96 = any(old.schema.column(i).physical_type == 'INT96' for i in range(len(old.schema)))
    options = dict(compression='NONE' if codec == 'UNCOMPRESSED' else codec, store_schema=False,
                   use_deprecated_int96_timestamps=is_int96)
    if name.endswith('_sorted.parquet') and args.data:
        # The large file is sorted by the columns that are sorted in the small one.
        ordered = [c for c in table.column_names if in_order(table.column(c).to_pylist())]
        whole = pq.read_table(os.path.join(args.data, name.replace('_sorted', '')), columns=table.column_names)
        pq.write_table(whole.sort_by([(c, 'ascending') for c in ordered]), big + '.part', row_group_size=CHUNK, **options)
    else:
        shuffle, block = random.Random(7), max(1, CHUNK // table.num_rows)
        with pq.ParquetWriter(big + '.part', table.schema, **options) as out:
            for done in range(0, args.factor, block):
                parts = []
                for i in range(done, min(done + block, args.factor)):
                    part = table
                    if name == 'customer.parquet':       # keys stay unique
                        key = part.schema.get_field_index('c_custkey')
                        moved = pc.add(part.column(key), i * table.num_rows)
                        part = part.set_column(key, part.schema.field(key), moved)
                    parts.append(part)
                rows = pa.concat_tables(parts)
                order = list(range(rows.num_rows))
                shuffle.shuffle(order)
                out.write_table(rows.take(order), row_group_size=CHUNK)
    os.replace(big + '.part', big)
    return big


def in_order(values):
    return None not in values and all(a <= b for a, b in zip(values, values[1:])) and values[0] != values[-1]


# ---------------------------------------------------------------- runs

def race(name, case, args, velox_run):
    ocior, velox, failed = [], [], None
    for _ in range(args.rounds):
        times, failed = ocior_times(case, args)
        ocior += times
        if args.velox and not failed:
            times, failed = velox_times(case, args, velox_run)
            velox += times
        if failed:
            break
    result = {'case': name, 'rows': None, 'equal': 'not compared', 'ratio': None,
              'ocior_ms': min(ocior) * 1e3 if ocior else None, 'velox_ms': min(velox) * 1e3 if velox else None}
    if failed:
        result['equal'] = 'failed'
        print(f'{name}: {failed}', file=sys.stderr)
    elif args.velox:
        result['ratio'] = min(velox) / min(ocior)
        result['rows'], result['equal'] = compared(case, args, velox_run)
    return result


def replay(case, args):
    return [args.ocior, 'replay', '--plan', os.path.join(case, 'plan.json'), '--case', os.path.join(case, 'case.json'),
            '--drivers', str(args.drivers), '-f', 'jsonl']


def ocior_times(case, args):
    # The last run is not counted, because it also prints its rows.
    if args.cpu:
        return user_times(lambda n: replay(case, args) + ['-o', os.devnull, '--repeat', str(n)], args.repeat)
    command = replay(case, args) + ['-o', os.devnull, '--timing', '--repeat', str(args.repeat + 1)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return [], 'ocior: ' + done.stderr.strip()[-300:]
    return json.loads(done.stderr.strip().splitlines()[-1])['times'][1:-1], None


def velox_times(case, args, velox_run):
    base = [args.velox, velox_run, case, '--quiet', '--drivers', str(args.drivers), '--repeat']
    if args.cpu:
        return user_times(lambda n: base + [str(n)], args.repeat)
    command = base + [str(args.repeat)]
    done = subprocess.run(command, capture_output=True, text=True)
    runs = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"case"')]
    if done.returncode or not runs:
        return [], 'velox: ' + done.stderr.strip()[-300:]
    return [run['seconds'] for run in runs[1:]] or [runs[0]['seconds']], None


def user_times(command, repeat):
    """Returns the user time of one run, from processes with one and with many runs, and an error message or None."""
    spent = {}
    for runs in (1, 1 + repeat):
        with subprocess.Popen(command(runs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            return [], f'exit code {process.returncode}: {command(runs)}'
        spent[runs] = usage.ru_utime
    # A time below the resolution of the clock cannot be measured.
    return [max((spent[1 + repeat] - spent[1]) / repeat, 1e-5)], None


def compared(case, args, velox_run):
    """Returns the number of Ocior's rows, and whether they are equal to those of Velox."""
    import check_plans
    with open(os.path.join(case, 'case.json')) as f:
        meta = json.load(f)
    count = [args.velox, velox_run, case, '--quiet', '--drivers', str(args.drivers)]
    done = subprocess.run(count, capture_output=True, text=True)
    runs = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"case"')]
    want = runs[-1]['rows'] if runs else -1
    if want > args.compare:
        with subprocess.Popen(replay(case, args), stdout=subprocess.PIPE) as run:
            got = sum(1 for _ in run.stdout)
        return got, 'in number' if got == want else f'no: {want}'
    mine = subprocess.run(replay(case, args), capture_output=True, text=True)
    theirs = subprocess.run([c for c in count if c != '--quiet'], capture_output=True, text=True)
    got, want = check_plans.rows(mine.stdout), check_plans.rows(theirs.stdout)
    # More rows are summed than in the original case, and in another order.
    tolerance = max(meta.get('float_tolerance', 0), 1e-9 if meta.get('float_tolerance') else 0)
    reason = check_plans.compare(want, got, meta.get('ordered', False), tolerance)
    if reason:
        print(f'{os.path.basename(case)}: {reason}', file=sys.stderr)
    return len(got), 'no' if reason else 'yes'


if __name__ == '__main__':
    main()
