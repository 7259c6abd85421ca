//! Tests random joins of every type against a model that compares all pairs of rows.

use vector::testing::{Random, RandomVectors};
use vector::{Buffer, DictionaryVector, Vector, VectorRef};

use super::*;

const KINDS: [JoinType; 9] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemiFilter,
    JoinType::LeftSemiProject,
    JoinType::RightSemiFilter,
    JoinType::RightSemiProject,
    JoinType::Anti,
];

type Rows = Vec<Vec<Value>>;

/// Probabilities that a value is null. A side without nulls is a separate case of null-aware joins,
/// and a side with few nulls has batches without any.
const NULL_RATIOS: [f64; 3] = [0.0, 0.01, 0.1];

/// Returns a random value from a small set, so that keys match.
fn value(random: &mut Random, ty: &Type, spread: i64, null_ratio: f64) -> Value {
    if random.chance(null_ratio) {
        return Value::Null;
    }
    let n = random.between(-3, 6) * spread;
    match ty {
        Type::SmallInt => Value::SmallInt(n as i16),
        Type::Integer => Value::Integer(n as i32),
        Type::Date => Value::Integer(n as i32),
        Type::Double => Value::Double(if n == 0 { -0.0 } else { n as f64 / 2.0 }),
        Type::Varchar => Value::bytes(format!("{}key {n}", "long ".repeat((n.abs() % 3) as usize))),
        _ => Value::BigInt(n),
    }
}

fn rows(random: &mut Random, types: &[Type], spread: i64, num_rows: usize) -> Rows {
    let null_ratio = *random.pick(&NULL_RATIOS);
    let value = |random: &mut Random, ty| value(random, ty, spread, null_ratio);
    let row = |random: &mut Random| types.iter().map(|ty| value(random, ty)).collect();
    (0..num_rows).map(|_| row(random)).collect()
}

/// Returns the rows as splits of batches in random encodings.
fn splits(vectors: &mut RandomVectors, row_type: &Arc<RowType>, rows: &Rows) -> Vec<Vec<Act>> {
    let mut splits = vec![Vec::new(), Vec::new(), Vec::new()];
    let mut rest = rows.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(1 + vectors.random().below(rest.len().min(40)));
        rest = later;
        let columns = row_type.types().iter().enumerate().map(|(column, ty)| {
            let values: Vec<Value> = now.iter().map(|row| row[column].clone()).collect();
            vectors.encode(ty, &values)
        });
        let columns = columns.collect();
        let batch = RowVector::batch(Arc::clone(row_type), now.len(), columns).unwrap();
        let split = vectors.random().below(3);
        splits[split].push(Act::Batch(batch));
    }
    splits
}

/// The model of a join. The last column of each side is the input of the join's filter.
struct Model<'a> {
    num_keys: usize,
    null_aware: bool,
    filter: bool,
    left: &'a Rows,
    right: &'a Rows,
}

impl Model<'_> {
    fn passes(&self, left: &[Value], right: &[Value]) -> bool {
        let (x, y) = (left.last().unwrap(), right.last().unwrap());
        !self.filter || (!x.is_null() && !y.is_null() && x.compare(y).is_lt())
    }

    fn has_null(&self, row: &[Value]) -> bool {
        row[..self.num_keys].iter().any(Value::is_null)
    }

    fn meets(&self, left: &[Value], right: &[Value]) -> bool {
        let mut keys = left[..self.num_keys].iter().zip(&right[..self.num_keys]);
        !self.has_null(left)
            && !self.has_null(right)
            && keys.all(|(a, b)| a.compare(b).is_eq())
            && self.passes(left, right)
    }

    fn could_meet(&self, left: &[Value], right: &[Value]) -> bool {
        self.null_aware && (self.has_null(left) || self.has_null(right)) && self.passes(left, right)
    }

    /// Returns true, false or null (unknown) for each row of one side: whether it has a partner.
    fn answers(&self, of_left: bool) -> Vec<Value> {
        let (own, other) = if of_left { (self.left, self.right) } else { (self.right, self.left) };
        let pair = |a: &Vec<Value>, b: &Vec<Value>, test: &dyn Fn(&[Value], &[Value]) -> bool| {
            if of_left { test(a, b) } else { test(b, a) }
        };
        let answer = |row: &Vec<Value>| {
            if other.iter().any(|o| pair(row, o, &|l, r| self.meets(l, r))) {
                return Value::Boolean(true);
            }
            match other.iter().any(|o| pair(row, o, &|l, r| self.could_meet(l, r))) {
                true => Value::Null,
                false => Value::Boolean(false),
            }
        };
        own.iter().map(answer).collect()
    }

    fn rows(&self, kind: JoinType) -> Rows {
        let with = |row: &Vec<Value>, answer: &Value| {
            row.iter().chain([answer]).cloned().collect::<Vec<_>>()
        };
        let (left, right) = (self.answers(true), self.answers(false));
        let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
        let chosen = |rows: &Rows, answers: &[Value], wanted: &Value| -> Rows {
            let chosen = rows.iter().zip(answers).filter(|(_, a)| *a == wanted);
            chosen.map(|(row, _)| row.clone()).collect()
        };
        let project = |rows: &Rows, answers: &[Value]| -> Rows {
            rows.iter().zip(answers).map(|(row, answer)| with(row, answer)).collect()
        };
        let nulls =
            |rows: &Rows| vec![Value::Null; rows.first().map_or(self.num_keys + 1, Vec::len)];
        match kind {
            JoinType::LeftSemiFilter => return chosen(self.left, &left, &yes),
            JoinType::Anti => return chosen(self.left, &left, &no),
            JoinType::RightSemiFilter => return chosen(self.right, &right, &yes),
            JoinType::LeftSemiProject => return project(self.left, &left),
            JoinType::RightSemiProject => return project(self.right, &right),
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {}
        }
        let mut all = Rows::new();
        for l in self.left {
            let partners = self.right.iter().filter(|r| self.meets(l, r));
            all.extend(partners.map(|r| l.iter().chain(r).cloned().collect()));
        }
        if matches!(kind, JoinType::Left | JoinType::Full) {
            let alone = chosen(self.left, &left, &no);
            all.extend(alone.into_iter().map(|l| [l, nulls(self.right)].concat()));
        }
        if matches!(kind, JoinType::Right | JoinType::Full) {
            let alone = chosen(self.right, &right, &no);
            all.extend(alone.into_iter().map(|r| [nulls(self.left), r].concat()));
        }
        all
    }
}

fn sorted(rows: Rows) -> Vec<String> {
    // Keys -0.0 and 0.0 are equal, and the join may return either.
    let mut rows: Vec<String> =
        rows.iter().map(|row| format!("{row:?}").replace("-0.0", "0.0")).collect();
    rows.sort();
    rows
}

fn check(seed: u64, key_types: &[Type], spread: i64) {
    let mut vectors = RandomVectors::new(seed);
    let types: Vec<Type> = key_types.iter().cloned().chain([Type::BigInt]).collect();
    let (num_left, num_right) =
        (*vectors.random().pick(&[0, 1, 30, 200]), *vectors.random().pick(&[0, 1, 7, 60]));
    let left_rows = rows(vectors.random(), &types, spread, num_left);
    let right_rows = rows(vectors.random(), &types, spread, num_right);
    let names = |side: &str| -> Vec<String> {
        let keys = (0..key_types.len()).map(|i| format!("{side}{i}"));
        keys.chain([format!("{side}x")]).collect()
    };
    let (left_names, right_names) = (names("l"), names("r"));
    let row_type = |names: &[String]| {
        Arc::new(RowType::new(names.iter().cloned().zip(types.clone()).collect::<Vec<_>>()))
    };
    let (left_type, right_type) = (row_type(&left_names), row_type(&right_names));
    let left_splits = splits(&mut vectors, &left_type, &left_rows);
    let right_splits = splits(&mut vectors, &right_type, &right_rows);
    let text = |names: &[String]| names.iter().map(|n| n.clone().leak() as &str).collect();
    let (left_names, right_names): (Vec<&str>, Vec<&str>) = (text(&left_names), text(&right_names));
    for kind in KINDS {
        for (null_aware, with_filter) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let answers = matches!(kind, JoinType::Anti) || kind.gives_match();
            let refused = kind == JoinType::RightSemiProject && with_filter;
            if null_aware && (!answers || refused || key_types.len() != 1) {
                continue;
            }
            let model = Model {
                num_keys: key_types.len(),
                null_aware,
                filter: with_filter,
                left: &left_rows,
                right: &right_rows,
            };
            let expected = sorted(model.rows(kind));
            let mut output: Vec<&str> = Vec::new();
            if kind.gives_left() {
                output.extend(&left_names);
            }
            if kind.gives_right() {
                output.extend(&right_names);
            }
            if kind.gives_match() {
                output.push("match");
            }
            let keys = key_types.len();
            for (drivers, takes_filters, max_rows) in
                [(1, true, 10_000), (3, true, 3), (1, false, 7)]
            {
                let left = scan("l", &left_type, takes_filters);
                let right = scan("r", &right_type, takes_filters);
                let names = (&left_names[..keys], &right_names[..keys]);
                let mut node = join(kind, (&left, &right), names, &output);
                node.null_aware = null_aware;
                node.filter = with_filter.then(|| less_than("lx", "rx"));
                let (left, right) = (left_splits.clone(), right_splits.clone());
                let run = Run::with(PlanNode::HashJoin(node), drivers, left, right, |query| {
                    query.config.max_output_batch_rows = max_rows;
                });
                let found = sorted(run.rows().unwrap().0);
                assert_eq!(
                    found, expected,
                    "seed {seed} {kind} null aware {null_aware} filter {with_filter} \
                     drivers {drivers}"
                );
            }
        }
    }
}

/// Keys may be null on both sides. Dynamic filters reject null keys, which is correct for the join
/// types that publish filters (rule S12.16).
#[test]
fn joins_of_one_key_give_what_a_comparison_of_all_pairs_gives() {
    for seed in 0..12 {
        check(seed, &[Type::BigInt], 1);
        check(seed, &[Type::BigInt], 1 << 40);
        check(seed, &[Type::Date], 1);
        check(seed, &[Type::Varchar], 1);
        check(seed, &[Type::Double], 1);
    }
}

/// The dictionaries, slices and lazy columns of these batches contain nulls that no row selects.
#[test]
fn nulls_that_no_row_selects_do_not_count_as_nulls_of_the_probe_side() {
    let (left_type, right_type) = (bigints(&["l0"]), bigints(&["r0"]));
    let key = |value: Option<i64>| value.map_or(Value::Null, Value::BigInt);
    let base = vector::testing::bigints(&[None, Some(1), None]);
    let one_row = Buffer::from_slice(&[1u32]);
    let encodings: [(&str, VectorRef); 5] = [
        ("dictionary", Vector::wrap(&base, &one_row)),
        ("slice", Vector::slice(&base, 1, 1).unwrap()),
        ("slice of a dictionary", {
            let whole = Vector::wrap(&base, &Buffer::from_slice(&[0u32, 1, 2]));
            Vector::slice(&whole, 1, 1).unwrap()
        }),
        ("dictionary over a dictionary", {
            let inner = Vector::wrap(&base, &Buffer::from_slice(&[2u32, 1]));
            Vector::wrap(&inner, &one_row)
        }),
        ("dictionary with nulls of its own, sliced", {
            let own = [false, true, false].into_iter().collect();
            let indices = Buffer::from_slice(&[0u32, 1, 9]);
            let whole = DictionaryVector::new(base.clone(), indices, Some(own)).unwrap();
            Vector::slice(&Arc::new(whole.into()), 1, 1).unwrap()
        }),
    ];
    for (encoding, column) in encodings {
        let left = RowVector::batch(Arc::clone(&left_type), 1, vec![column]).unwrap();
        // A batch without rows has no null either.
        let nothing = Arc::new(Vector::nulls(Type::BigInt, 0));
        let nothing = RowVector::batch(Arc::clone(&left_type), 0, vec![nothing]).unwrap();
        let right = numbers(&right_type, &[&[2]]);
        let (l, r) = (scan("l", &left_type, false), scan("r", &right_type, false));
        let sides = (&l, &r);
        let mut node =
            join(JoinType::RightSemiProject, sides, (&["l0"], &["r0"]), &["r0", "match"]);
        node.null_aware = true;
        let left = vec![Act::Batch(nothing), Act::Batch(left)];
        let run = Run::new(PlanNode::HashJoin(node), 1, vec![left], vec![vec![Act::Batch(right)]]);
        let expected = [vec![key(Some(2)), Value::Boolean(false)]];
        assert_eq!(run.rows().unwrap().0, expected, "{encoding}");
    }
}

#[test]
fn joins_of_several_keys_give_what_a_comparison_of_all_pairs_gives() {
    for seed in 0..4 {
        check(seed, &[Type::SmallInt, Type::BigInt], 1);
        check(seed, &[Type::Integer, Type::Varchar], 1);
        check(seed, &[Type::BigInt, Type::BigInt, Type::Double], 1 << 50);
    }
}

#[test]
fn joins_without_keys_pair_all_rows() {
    for seed in 0..4 {
        check(seed, &[], 1);
    }
}
