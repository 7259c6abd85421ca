//! Fuzzes the SQL planner: any text is planned or rejected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ocior::Engine;
use vector::sync::Arc;

fuzz_target!(|text: &str| {
    let engine = Engine::builder().file_system(Arc::new(dwio::fs::MemoryFiles::new())).build();
    let _ = engine.plan(text);
});
