//! The blocks of a cache, and the order in which they were used.

use std::collections::BTreeMap;

use vector::Buffer;
use vector::sync::Arc;

use super::FileIdentity;

/// A block: of which file, and which of its blocks.
pub(super) type Key = (Arc<FileIdentity>, u64);

/// All blocks that are not absent.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    entries: BTreeMap<Key, Entry>,
    /// Those that are ready, by their last use.
    by_use: BTreeMap<u64, Key>,
    num_uses: u64,
}

#[derive(Debug)]
enum Entry {
    Loading,
    Ready { bytes: Buffer<u8>, last_use: u64 },
}

/// What a reader does about a block.
#[derive(Debug)]
pub(super) enum Turn {
    /// Here it is; as long as its bytes are held it stays.
    Ready(Buffer<u8>),
    /// Another reader loads it.
    Wait,
    /// Nobody has it: this reader loads it now.
    Load,
    /// Nobody has it, and it is not to be kept.
    Absent,
}

impl Blocks {
    /// What to do about a block; one that nobody has is claimed if `keeps`.
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

    /// True when the block is there or being loaded.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.entries.contains_key(key)
    }

    /// A block that was claimed is ready.
    pub(super) fn publish(&mut self, key: &Key, bytes: Buffer<u8>) {
        self.num_uses = self.num_uses.saturating_add(1);
        let last_use = self.num_uses;
        self.entries.insert(key.clone(), Entry::Ready { bytes, last_use });
        self.by_use.insert(last_use, key.clone());
    }

    /// A block that was claimed is absent again, if it was not published.
    pub(super) fn give_up(&mut self, key: &Key) {
        if matches!(self.entries.get(key), Some(Entry::Loading)) {
            self.entries.remove(key);
        }
    }

    /// Takes out blocks of `bytes` in all, or all there are, that nobody holds: those that were not
    /// used for the longest time. Only this cache can hand out what nobody else holds, so none of
    /// them is pinned meanwhile.
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
