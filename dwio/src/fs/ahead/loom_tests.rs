//! Loom models: reads of a region that is queued, being read or done, and regions that are never
//! read.

use super::*;
use crate::fs::MemoryFiles;

/// Returns the file `f` of 8 bytes, read ahead by one thread.
fn files() -> (AheadFiles, Arc<dyn ReadFile>) {
    let files = MemoryFiles::new();
    files.put("f", (0..8).collect());
    let files = AheadFiles::new(Arc::new(files), 1, 100);
    let file = files.open("f").unwrap();
    (files, file)
}

fn read(file: &dyn ReadFile, range: Range<u8>) {
    let mut out = vec![0; range.len()];
    file.read_exact_at(range.start.into(), &mut out).unwrap();
    assert!(out.into_iter().eq(range));
}

#[test]
fn loom_a_read_gets_its_bytes_wherever_its_region_stands() {
    loom::model(|| {
        let (files, file) = files();
        assert!(file.prefetch(0, 4));
        read(&*file, 0..6);
        files.wait_until_fetched();
        assert_eq!(files.threads.shared.held_bytes.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn loom_two_readers_of_a_region_get_their_parts_of_it() {
    loom::model(|| {
        let (_files, file) = files();
        assert!(file.prefetch(0, 4));
        let same = Arc::clone(&file);
        let other = thread::spawn(move || read(&*same, 2..4));
        read(&*file, 1..3);
        other.join().unwrap();
    });
}

#[test]
fn loom_what_nobody_reads_is_let_go_with_the_file_and_its_threads_end() {
    loom::model(|| {
        let (files, file) = files();
        assert!(file.prefetch(0, 4));
        assert!(file.prefetch(4, 4));
        drop(file);
        files.wait_until_fetched();
        assert_eq!(files.threads.shared.held_bytes.load(Ordering::Relaxed), 0);
    });
}
