//! Fuzzes plans and splits in JSON: any text is read or rejected. The first byte chooses the kind
//! of the text: a plan, a case, or the records of a split file.

#![no_main]

use std::path::Path;

use exec::expr::FunctionRegistry;
use libfuzzer_sys::fuzz_target;
use ocior::Engine;
use ocior::replay::trace::check_split_records;
use ocior::replay::{PathMap, Replay};
use vector::sync::Arc;

const PLAN: &str = r#"{"name":"TableScanNode","id":"0","assignments":[],
"outputType":{"name":"Type","type":"ROW","names":[],"cTypes":[]},
"tableHandle":{"name":"HiveTableHandle","connectorId":"hive","tableName":"t","subfieldFilters":[]}}"#;

fuzz_target!(|data: &[u8]| {
    let [choice, bytes @ ..] = data else { return };
    if choice % 3 == 2 {
        let _ = check_split_records(bytes);
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (plan, case) = if choice % 3 == 0 { (text, "{}") } else { (PLAN, text) };
    let functions = Arc::new(FunctionRegistry::builtin());
    let _ = Replay::read(plan, case, Path::new("."), Engine::HIVE, &PathMap::default(), &functions);
});
