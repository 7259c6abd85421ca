//! Tests of the data that scans store in a shared cache and find there.

use super::*;
use crate::text::FORMAT_NAME;
use dwio::input::cache::RegionCache;

/// Data of a split that is not cacheable is not stored, but cached data is used (rule S14.15).
#[test]
fn s14_15_a_split_that_is_not_cacheable_leaves_nothing_and_uses_what_is_there() {
    let files = MemoryFiles::with_versions();
    let observed = ObservedFiles::new(Arc::new(files.clone()));
    let world = World { files, observed, ..World::new() };
    world.files.put("t", (0..100).map(|n| format!("{n}\n")).collect::<String>().into_bytes());
    let root = MemoryPool::root("engine", u64::MAX);
    let cache = RegionCache::new(&root, 1 << 20);
    let connector = world.connector().with_cache(cache.clone());
    let read = |cacheable: bool| {
        let ctx = ConnectorQueryCtx {
            pool: root.leaf("scan"),
            evaluator: Arc::new(RowByRow),
            session: Config::new(),
            cancel: CancelFlag::new(),
        };
        let columns = [("x", Type::BigInt)];
        let request = scan().data(&columns).regular("x", Type::BigInt).request();
        let mut source = connector.data_source(request, &Arc::new(ctx)).unwrap();
        let split = HiveSplit::new("hive", "t", FileFormat::new(FORMAT_NAME));
        source.add_split(Arc::new(HiveSplit { cacheable, ..split })).unwrap();
        assert_eq!(drain(source.as_mut()).unwrap().len(), 100);
        let metrics = source.metrics();
        (world.observed.reads(), metrics.sum("ramReadBytes"), metrics.sum("numRamRead"))
    };
    assert_eq!(read(false).1, 0);
    assert_eq!(cache.pool().used(), 0);
    let (reads, _, _) = read(true);
    assert!(cache.pool().used() > 0);
    for cacheable in [true, false] {
        let (again, bytes, num) = read(cacheable);
        // The whole file, and its first four bytes again, which are checked for the magic of
        // another format.
        assert_eq!((again, bytes), (reads, 294));
        assert!(num > 0);
    }
    cache.clear();
    assert_eq!(root.used(), 0);
}
