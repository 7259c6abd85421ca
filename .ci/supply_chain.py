#!/usr/bin/env python3
"""Licences, duplicate versions, banned crates, sources and advisories of the dependencies.

Checks what deny.toml says over `cargo metadata`, with nothing but Python and cargo, so that it runs
on every machine; `cargo deny check`, where it is installed, checks the same and more.

    python3 .ci/supply_chain.py              checks the workspace
    python3 .ci/supply_chain.py --self-test  checks the checks

Advisories are read from a checkout of https://github.com/rustsec/advisory-db in ADVISORY_DB, or
where cargo-deny and cargo-audit keep theirs. Without one the step is skipped, and says so.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CRATES_IO = "https://github.com/rust-lang/crates.io-index"


def allowed(expression, licences):
    """True when an SPDX expression can be met by `licences`; returns those that were used too."""
    tokens = re.findall(r"[()]|[^\s()/]+|/", expression)
    at = 0

    def term():
        nonlocal at
        token = tokens[at]
        at += 1
        if token == "(":
            found = either()
            at += 1
            return found
        if at + 1 < len(tokens) and tokens[at] == "WITH":
            token = f"{token} WITH {tokens[at + 1]}"
            at += 2
        return {token} if token in licences else None

    def both():
        nonlocal at
        found = term()
        while at < len(tokens) and tokens[at] == "AND":
            at += 1
            other = term()
            found = None if found is None or other is None else found | other
        return found

    def either():
        nonlocal at
        found = both()
        while at < len(tokens) and tokens[at] in ("OR", "/"):
            at += 1
            other = both()
            found = other if found is None else found
        return found

    return either()


def version_of(text):
    """A version as numbers; what follows a hyphen or a plus is left out."""
    parts = re.split(r"[-+]", text.strip())[0].split(".")
    return tuple(int(part) for part in (parts + ["0", "0"])[:3])


def matches(version, requirement):
    """True when a version meets a requirement such as `>= 1.2.3, < 2` or `^1.2`."""
    version = version_of(version)
    for part in requirement.split(","):
        found = re.fullmatch(r"(>=|<=|>|<|=|\^|~)?\s*(\d[\w.+-]*)", part.strip())
        if not found:
            raise ValueError(f"a requirement that is not understood: {requirement}")
        sign, wanted = found[1] or "^", version_of(found[2])
        if sign == "^":
            fixed = next((i for i, number in enumerate(wanted) if number), 2)
            above = wanted[:fixed] + (wanted[fixed] + 1,) + (0,) * (2 - fixed)
            meets = wanted <= version < above
        elif sign == "~":
            meets = wanted <= version < (wanted[0], wanted[1] + 1, 0)
        else:
            meets = {
                ">=": version >= wanted,
                "<=": version <= wanted,
                ">": version > wanted,
                "<": version < wanted,
                "=": version == wanted,
            }[sign]
        if not meets:
            return False
    return True


def packages_of(targets):
    """The packages that are compiled for one of the targets, with all features, each once."""
    found = {}
    for target in targets:
        command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
        command += ["--filter-platform", target]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"cargo metadata failed for {target}:\n{done.stderr}")
        metadata = json.loads(done.stdout)
        used = {node["id"] for node in metadata["resolve"]["nodes"]}
        found |= {p["id"]: p for p in metadata["packages"] if p["id"] in used}
    return list(found.values())


def licence_faults(packages, rules):
    licences = set(rules["allow"])
    used = set()
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            yield f"{name} names no licence"
            continue
        found = allowed(package["license"], licences)
        if found is None:
            yield f"{name} is licensed as {package['license']}, which deny.toml does not allow"
        used |= found or set()
    for licence in sorted(licences - used):
        yield f"deny.toml allows {licence}, which no dependency needs"


def version_faults(packages, rules):
    skipped = {entry["crate"] for entry in rules["skip"]}
    banned = {entry["crate"]: entry["reason"] for entry in rules["deny"]}
    versions = {}
    for package in packages:
        versions.setdefault(package["name"], set()).add(package["version"])
    for name, found in sorted(versions.items()):
        if name in banned:
            yield f"{name} is banned: {banned[name]}"
        kept = {version for version in found if f"{name}@{version}" not in skipped}
        if len(kept) > 1:
            yield f"{name} is there in versions {', '.join(sorted(found))}"
    for entry in sorted(skipped):
        name, version = entry.split("@")
        if len(versions.get(name, ())) < 2 or version not in versions[name]:
            yield f"deny.toml skips {entry}, which is no duplicate any more"


def source_faults(packages, rules):
    registries = {f"registry+{registry}" for registry in rules["allow-registry"]}
    for package in packages:
        source = package["source"]
        if source is not None and source not in registries:
            yield f"{package['name']} {package['version']} comes from {source}"
    with open(os.path.join(ROOT, "Cargo.lock"), "rb") as lock:
        for package in tomllib.load(lock)["package"]:
            if "source" in package and "checksum" not in package:
                yield f"{package['name']} {package['version']} has no checksum in Cargo.lock"


def advisory_faults(packages, database):
    """Advisories that hold for a package; `informational` ones are told only for direct ones."""
    direct = set()
    for package in packages:
        if package["source"] is None:
            direct |= {dependency["name"] for dependency in package["dependencies"]}
    for package in packages:
        for path in sorted(glob.glob(os.path.join(database, "crates", package["name"], "*.md"))):
            with open(path, encoding="utf-8") as file:
                text = re.search(r"```toml\n(.*?)```", file.read(), re.S)
            advisory = tomllib.loads(text[1])
            about, versions = advisory["advisory"], advisory.get("versions", {})
            safe = versions.get("patched", []) + versions.get("unaffected", [])
            is_told = "informational" not in about or package["name"] in direct
            if "withdrawn" in about or not is_told:
                continue
            if not any(matches(package["version"], requirement) for requirement in safe):
                yield f"{package['name']} {package['version']}: {about['id']} ({path})"


def database_of_advisories():
    places = [os.environ.get("ADVISORY_DB", "")]
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    places += [os.path.join(home, "advisory-db")]
    places += glob.glob(os.path.join(home, "advisory-dbs", "*"))
    return next((p for p in places if p and os.path.isdir(os.path.join(p, "crates"))), None)


def self_test():
    few = {"MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(GPL-3.0 OR MIT) AND Zlib", True),
        ("GPL-3.0 OR MIT AND Zlib", True),
        ("Apache-2.0", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", True),
    ]:
        assert (allowed(expression, few) is not None) == expected, expression
    for version, requirement, expected in [
        ("1.2.3", ">= 1.2.3", True),
        ("1.2.2", ">= 1.2.3", False),
        ("1.9.0", "^1.2", True),
        ("2.0.0", "^1.2", False),
        ("0.2.9", "^0.2.3", True),
        ("0.3.0", "^0.2.3", False),
        ("1.2.9", "~1.2.3", True),
        ("1.5.0", ">= 1.2, < 1.5", False),
        ("1.4.9", ">= 1.2, < 1.5", True),
        ("1.0.0", "= 1.0.0", True),
    ]:
        assert matches(version, requirement) == expected, (version, requirement)
    package = {"name": "a", "version": "1.0.0", "license": "GPL-3.0", "source": None}
    other = package | {"version": "2.0.0", "license": None, "source": "git+https://x"}
    rules = {"allow": ["MIT"], "skip": [], "deny": [{"crate": "a", "reason": "r"}]}
    assert len(list(licence_faults([package, other], rules))) == 3
    assert len(list(version_faults([package, other], rules))) == 2
    skip = rules | {"skip": [{"crate": "a@1.0.0"}, {"crate": "b@1.0.0"}]}
    assert len(list(version_faults([package, other], skip))) == 2
    assert len(list(source_faults([package, other], {"allow-registry": [CRATES_IO]}))) == 1
    print("the checks of the supply chain find what they are to find")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    with open(os.path.join(ROOT, "deny.toml"), "rb") as file:
        rules = tomllib.load(file)
    packages = packages_of(rules["graph"]["targets"])
    faults = list(licence_faults(packages, rules["licenses"]))
    faults += version_faults(packages, rules["bans"])
    faults += source_faults(packages, rules["sources"])
    database = database_of_advisories()
    if database:
        faults += advisory_faults(packages, database)
    else:
        print("SKIPPED: ADVISORIES. There is no copy of https://github.com/rustsec/advisory-db;")
        print("         name one in ADVISORY_DB. Known vulnerabilities were NOT looked for.")
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"{len(packages)} packages, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
