//! The block table of a cache, with the order of use.

use std::collections::BTreeMap;

use vector::Buffer;
use vector::sync::Arc;

use super::FileIdentity;

/// Key of a block: its file and its number.
pub(super) type Key = (Arc<FileIdentity>, u64);

/// All blocks that are not absent.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    entries: BTreeMap<Key, Entry>,
    /// Ready blocks, ordered by last use.
    by_use: BTreeMap<u64, Key>,
    num_uses: u64,
}

#[derive(Debug)]
enum Entry {
    Loading,
    Ready { bytes: Buffer<u8>, last_use: u64 },
}

/// What a reader has to do for a block.
#[derive(Debug)]
pub(super) enum Turn {
    /// Use these bytes; the block stays in memory while they are held.
    Ready(Buffer<u8>),
    /// Wait: another reader is loading the block.
    Wait,
    /// Load the block: it was absent and is now claimed by this reader.
    Load,
    /// Read without the cache: the block is absent and is not to be kept.
    Absent,
}

impl Blocks {
    /// Looks up a block and claims it for loading if it is absent and `keeps` is set.
    pub(super) fn turn(&mut self, key: &Key, keeps: bool) -> Turn {
        match self.entries.get_mut(key) {
            Some(Entry::Loading) => Turn::Wait,
            Some(Entry::Ready { bytes, last_use }) => {
                self.num_uses = self.num_uses.saturating_add(1);
                if let Some(key) = self.by_use.remove(last_use) {
                    self.by_use.insert(self.num_uses, key);
                }
                *last_use = self.num_uses;
                Turn::Ready(bytes.clone())
            }
            None if keeps => {
                self.entries.insert(key.clone(), Entry::Loading);
                Turn::Load
            }
            None => Turn::Absent,
        }
    }

    /// Returns true if the block is in memory or being loaded.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.entries.contains_key(key)
    }

    /// Makes a claimed block ready.
    pub(super) fn publish(&mut self, key: &Key, bytes: Buffer<u8>) {
        self.num_uses = self.num_uses.saturating_add(1);
        let last_use = self.num_uses;
        self.entries.insert(key.clone(), Entry::Ready { bytes, last_use });
        self.by_use.insert(last_use, key.clone());
    }

    /// Makes a claimed block absent again if it was not published.
    pub(super) fn give_up(&mut self, key: &Key) {
        if matches!(self.entries.get(key), Some(Entry::Loading)) {
            self.entries.remove(key);
        }
    }

    /// Removes the least recently used unpinned blocks, of `bytes` bytes in total or all of them.
    /// An unpinned block cannot become pinned in between, because only this cache holds a reference
    /// to its bytes.
    pub(super) fn evict(&mut self, bytes: u64) -> Vec<Buffer<u8>> {
        let (mut evicted, mut num_bytes) = (Vec::new(), 0u64);
        let mut uses = Vec::new();
        for (last_use, key) in &self.by_use {
            if num_bytes >= bytes {
                break;
            }
            if let Some(Entry::Ready { bytes, .. }) = self.entries.get(key)
                && bytes.is_unique()
            {
                num_bytes = num_bytes.saturating_add(bytes.retained_bytes() as u64);
                uses.push(*last_use);
            }
        }
        for last_use in uses {
            let entry = self.by_use.remove(&last_use).and_then(|key| self.entries.remove(&key));
            if let Some(Entry::Ready { bytes, .. }) = entry {
                evicted.push(bytes);
            }
        }
        evicted
    }
}
