//! Buffers: aligned, padded memory that one owner writes and that is then shared read-only.
//!
//! ```text
//! BufferMut<T> --freeze--> Buffer<T> --clone--> Buffer<T> ...     (Arc of one allocation)
//!      ^                       |
//!      +------- into_mut ------+   only if no other buffer shares the memory
//! ```
//!
//! Every heap allocation starts at a multiple of [`ALIGNMENT`] and is followed by [`PADDING`]
//! readable bytes, so that SIMD loads may read past the end (rule P3.22). Memory of another owner
//! (a mapped file, a `Vec`) is wrapped without a copy by [`Buffer::from_owner`]; such a buffer has
//! no guaranteed alignment and no padding.
//!
//! Apart from the SIMD kernels, this is the only file of the crate with `unsafe` code.

#![allow(unsafe_code)]

use crate::sync::Arc;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error, realloc};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;

use super::{Held, MemoryPool, scope};
use crate::error::{Error, Result};
use crate::types::{StringView, Timestamp};

/// Alignment of every heap buffer in bytes.
pub const ALIGNMENT: usize = 64;

/// Number of readable bytes after the last element of a heap buffer.
pub const PADDING: usize = 64;

/// A plain fixed-width value that can be stored in buffers.
///
/// # Safety
/// - `Self` has no padding bytes and every bit pattern is a valid value.
/// - The alignment of `Self` divides [`ALIGNMENT`].
pub unsafe trait Native: Copy + Default + Send + Sync + std::fmt::Debug + 'static {}

macro_rules! native {
    ($($t:ty),*) => { $(
        // SAFETY: a primitive number has no padding, all its bit patterns are valid, and its
        // alignment is at most 16.
        unsafe impl Native for $t {}
    )* };
}
native!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64);

// SAFETY: `repr(C)` of an i64 and a u64 has 16 bytes and no padding, and all bit patterns are
// valid.
unsafe impl Native for Timestamp {}
// SAFETY: the type is `repr(transparent)` over u128.
unsafe impl Native for StringView {}

/// Returns the memory of a string view, which is 16 bytes in little-endian order.
#[inline]
pub(crate) fn bytes_of(view: &StringView) -> &[u8; 16] {
    const { assert!(cfg!(target_endian = "little"), "views are read as they stand in memory") };
    // SAFETY: `StringView` is `repr(transparent)` over u128, which has 16 initialised bytes, and
    // bytes have no alignment requirement; the borrow keeps the view alive.
    unsafe { &*std::ptr::from_ref(view).cast::<[u8; 16]>() }
}

/// Determines how the memory is freed.
enum Owner {
    Heap,
    /// The memory is freed by dropping the boxed value that lends it; this is the pointer from
    /// `Box::into_raw`. It is not a `Box`, because moving a `Box` asserts that no other pointer
    /// points into it, while `Allocation::start` does (for an owner such as `[u8; 16]`).
    Foreign(NonNull<dyn AsRef<[u8]> + Send + Sync>),
}

/// One allocation, which is freed and released from its pool on drop.
struct Allocation {
    start: NonNull<u8>,
    /// Bytes for elements; heap memory has [`PADDING`] more bytes.
    capacity: usize,
    owner: Owner,
    pool: Option<MemoryPool>,
}

// SAFETY: the bytes are only written through `BufferMut`, which is the sole owner of the
// allocation; the foreign owner is itself `Send + Sync`.
unsafe impl Send for Allocation {}
// SAFETY: as above; shared access is read-only.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn empty(pool: Option<MemoryPool>) -> Self {
        // ALIGNMENT is a non-zero and well-aligned address for every `Native`; with capacity 0 it
        // is never dereferenced and never freed.
        let start = NonNull::new(std::ptr::without_provenance_mut(ALIGNMENT)).expect("not null");
        Allocation { start, capacity: 0, owner: Owner::Heap, pool }
    }

    fn layout(capacity: usize) -> Layout {
        let bytes = capacity.checked_add(PADDING).expect("buffer size overflows");
        Layout::from_size_align(bytes, ALIGNMENT).expect("buffer size overflows")
    }

    /// Grows heap memory to at least `wanted` bytes. `pay` charges the new memory to the pool while
    /// the old memory is still charged, because both exist while the values are moved. New bytes
    /// are zero on the first allocation and unspecified but initialised afterwards.
    fn grow(
        &mut self,
        wanted: usize,
        pay: impl FnOnce(&MemoryPool, u64) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(matches!(self.owner, Owner::Heap));
        let new_capacity = Self::rounded(wanted);
        if new_capacity <= self.capacity {
            return Ok(());
        }
        if let Some(pool) = &self.pool {
            pay(pool, new_capacity as u64)?;
        }
        let layout = Self::layout(new_capacity);
        let fresh = if self.capacity == 0 {
            // SAFETY: the layout is not zero-sized, because it includes PADDING.
            unsafe { alloc_zeroed(layout) }
        } else {
            let old = Self::layout(self.capacity);
            // SAFETY: `start` came from this allocator with `old`; the new size is not zero and
            // does not overflow, as `layout()` checks.
            let p = unsafe { realloc(self.start.as_ptr(), old, layout.size()) };
            if !p.is_null() {
                // SAFETY: `p` is valid for `layout.size()` bytes; the bytes after the old size are
                // new and must be initialised before they can be read as numbers.
                unsafe { p.add(old.size()).write_bytes(0, layout.size() - old.size()) };
            }
            p
        };
        let Some(start) = NonNull::new(fresh) else { handle_alloc_error(layout) };
        self.start = start;
        let old_capacity = std::mem::replace(&mut self.capacity, new_capacity);
        if let Some(pool) = &self.pool {
            scope::release(pool, old_capacity as u64);
        }
        Ok(())
    }

    fn rounded(bytes: usize) -> usize {
        bytes.checked_next_multiple_of(ALIGNMENT).expect("buffer size overflows")
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        match self.owner {
            Owner::Heap if self.capacity == 0 => {}
            Owner::Heap => {
                // SAFETY: heap memory of non-zero capacity came from `grow` with exactly this
                // layout.
                unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) };
                if let Some(pool) = &self.pool {
                    scope::release(pool, self.capacity as u64);
                }
            }
            // SAFETY: the pointer came from `Box::into_raw` in `from_owner`, this allocation is its
            // only owner, and no slice of the lent bytes outlives the allocation.
            Owner::Foreign(owner) => drop(unsafe { Box::from_raw(owner.as_ptr()) }),
        }
    }
}

/// Shared read-only values; clones share the memory.
pub struct Buffer<T: Native> {
    allocation: Arc<Allocation>,
    /// Position of the first element in bytes from the start, a multiple of the alignment of `T`.
    offset: usize,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Native> Buffer<T> {
    /// Creates a buffer without elements.
    pub fn empty() -> Self {
        BufferMut::new().freeze()
    }

    /// Creates a buffer with a copy of a slice.
    pub fn from_slice(values: &[T]) -> Self {
        let mut buffer = BufferMut::new();
        buffer.extend_from_slice(values);
        buffer.freeze()
    }

    /// Returns the elements `range` as a buffer that shares the memory.
    ///
    /// # Panics
    /// If the range is not inside the buffer.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "slice outside of the buffer");
        Buffer {
            allocation: Arc::clone(&self.allocation),
            offset: self.offset + range.start * size_of::<T>(),
            len: range.end - range.start,
            values: PhantomData,
        }
    }

    /// Returns the values.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `offset` and `len` stay inside initialised memory (checked by every constructor),
        // `offset` is aligned for T, and no thread writes while a `Buffer` exists.
        unsafe {
            let first = self.allocation.start.as_ptr().add(self.offset).cast::<T>();
            std::slice::from_raw_parts(first, self.len)
        }
    }

    /// Returns the memory for writing, with its elements, if no other buffer shares it.
    ///
    /// # Errors
    /// The buffer itself, if it is shared, is a slice that does not begin at the start, or wraps
    /// memory of another owner.
    pub fn into_mut(self) -> std::result::Result<BufferMut<T>, Self> {
        let Buffer { allocation, offset, len, .. } = self;
        let shared = |allocation| Buffer { allocation, offset, len, values: PhantomData };
        if offset != 0 || !matches!(allocation.owner, Owner::Heap) {
            return Err(shared(allocation));
        }
        match Arc::try_unwrap(allocation) {
            Ok(allocation) => Ok(BufferMut { allocation, len, values: PhantomData }),
            Err(allocation) => Err(shared(allocation)),
        }
    }

    /// Returns true if no other buffer shares the memory.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.allocation) == 1
    }

    /// Returns the size in bytes of the memory that this buffer keeps alive.
    pub fn retained_bytes(&self) -> usize {
        self.held_bytes(Held::All)
    }

    /// Returns the size in bytes of the memory that this buffer keeps alive, as far as `held`
    /// selects it.
    pub fn held_bytes(&self, held: Held) -> usize {
        match held {
            Held::Unpaid if self.allocation.pool.is_some() => 0,
            _ => self.allocation.capacity,
        }
    }

    /// Returns the number of readable bytes after the last element, which SIMD loads may read.
    pub fn slack(&self) -> usize {
        let end = self.offset + self.len * size_of::<T>();
        let padding = match self.allocation.owner {
            Owner::Heap if self.allocation.capacity > 0 => PADDING,
            _ => 0,
        };
        self.allocation.capacity + padding - end
    }
}

impl Buffer<u8> {
    /// Wraps bytes that `owner` keeps alive and unchanged, without a copy.
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let owner: Box<dyn AsRef<[u8]> + Send + Sync> = Box::new(owner);
        let owner = NonNull::new(Box::into_raw(owner)).expect("a box is not null");
        // From here on the allocation frees the owner, even if `as_ref` panics.
        let start = NonNull::<u8>::dangling();
        let mut allocation =
            Allocation { start, capacity: 0, owner: Owner::Foreign(owner), pool: None };
        // SAFETY: the pointer came from a box and is valid until the allocation drops it. No other
        // reference is ever made from it, so the lent bytes stay valid and unchanged.
        let bytes = unsafe { owner.as_ref() }.as_ref();
        (allocation.start, allocation.capacity) = (NonNull::from(bytes).cast(), bytes.len());
        let len = allocation.capacity;
        if len == 0 {
            return Buffer::empty();
        }
        Buffer { allocation: Arc::new(allocation), offset: 0, len, values: PhantomData }
    }
}

impl<T: Native> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer {
            allocation: Arc::clone(&self.allocation),
            offset: self.offset,
            len: self.len,
            values: PhantomData,
        }
    }
}

impl<T: Native> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Native> AsRef<[T]> for Buffer<T> {
    fn as_ref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Native> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} values)", self.len)
    }
}

impl<T: Native> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        let mut buffer = BufferMut::new();
        buffer.extend(iter);
        buffer.freeze()
    }
}

/// A growable array under construction with a single owner.
pub struct BufferMut<T: Native> {
    allocation: Allocation,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Native> BufferMut<T> {
    /// Creates an empty buffer whose memory is charged to the pool of this thread's scope
    /// ([`super::PoolScope`]), or to no pool outside of a scope.
    pub fn new() -> Self {
        BufferMut { allocation: Allocation::empty(scope::current()), len: 0, values: PhantomData }
    }

    /// Creates an empty buffer whose memory is charged to `pool`.
    pub fn new_in(pool: &MemoryPool) -> Self {
        let allocation = Allocation::empty(Some(pool.clone()));
        BufferMut { allocation, len: 0, values: PhantomData }
    }

    /// Creates an empty buffer with capacity for `capacity` values, charged to `pool`.
    ///
    /// # Errors
    /// `Limit` if the pool refuses the memory, or the size exceeds the address space.
    pub fn with_capacity_in(capacity: usize, pool: &MemoryPool) -> Result<Self> {
        let mut buffer = Self::new_in(pool);
        buffer.try_reserve(capacity)?;
        Ok(buffer)
    }

    /// Creates an empty buffer with capacity for `capacity` values, charged as by
    /// [`BufferMut::new`] regardless of limits.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut buffer = Self::new();
        buffer.reserve(capacity);
        buffer
    }

    fn bytes_for(len: usize) -> Option<usize> {
        len.checked_mul(size_of::<T>()).filter(|b| *b <= isize::MAX as usize - 2 * PADDING)
    }

    /// Reserves capacity for `additional` more values and no more than these, subject to the limits
    /// of the pool. It is to be used for sizes that come from data.
    ///
    /// # Errors
    /// `Limit` if the pool refuses the memory, or the size exceeds the address space.
    pub fn try_reserve(&mut self, additional: usize) -> Result<()> {
        self.try_reserve_bytes(additional, 0)
    }

    /// Reserves capacity as [`BufferMut::try_reserve`] does, for a buffer that is filled in pieces:
    /// it grows at least by doubling, so that the values are not moved for each piece.
    ///
    /// # Errors
    /// `Limit` if the pool refuses the memory, or the size exceeds the address space.
    pub fn try_grow(&mut self, additional: usize) -> Result<()> {
        self.try_reserve_bytes(additional, self.allocation.capacity.saturating_mul(2))
    }

    fn try_reserve_bytes(&mut self, additional: usize, min_bytes: usize) -> Result<()> {
        let wanted =
            self.len.checked_add(additional).and_then(Self::bytes_for).ok_or_else(|| {
                Error::limit("a buffer would pass the address space").with("values", additional)
            })?;
        if wanted > self.allocation.capacity {
            self.allocation.grow(wanted.max(min_bytes), scope::reserve)?;
        }
        Ok(())
    }

    /// Reserves capacity for `additional` more values, charged to the pool regardless of its
    /// limits. Grows at least by doubling.
    ///
    /// # Panics
    /// If the size exceeds the address space.
    pub fn reserve(&mut self, additional: usize) {
        let wanted = self
            .len
            .checked_add(additional)
            .and_then(Self::bytes_for)
            .expect("a buffer would pass the address space");
        if wanted <= self.allocation.capacity {
            return;
        }
        let wanted = wanted.max(self.allocation.capacity.saturating_mul(2));
        self.allocation
            .grow(wanted, scope::charge)
            .expect("a pool that is charged does not refuse");
    }

    /// Appends one value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity() {
            self.reserve(1);
        }
        // SAFETY: `len < capacity`, so the slot is inside the allocation and aligned.
        unsafe { self.pointer().add(self.len).write(value) };
        self.len += 1;
    }

    /// Appends copies of all values of `values`.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        self.reserve(values.len());
        // SAFETY: `reserve` made capacity for `values.len()` more values; the ranges cannot
        // overlap, because `self` is borrowed mutably.
        unsafe {
            let end = self.pointer().add(self.len);
            std::ptr::copy_nonoverlapping(values.as_ptr(), end, values.len());
        }
        self.len += values.len();
    }

    /// Sets the length; new values are copies of `value`.
    pub fn resize(&mut self, len: usize, value: T) {
        if len > self.len {
            self.reserve(len - self.len);
            let old = self.len;
            self.len = len;
            if let Some(fresh) = self.as_mut_slice().get_mut(old..) {
                fresh.fill(value);
            }
        } else {
            self.len = len;
        }
    }

    /// Sets the length without writing: new values are unspecified but initialised. It is meant for
    /// kernels that overwrite all of them.
    pub fn resize_unspecified(&mut self, len: usize) {
        if len > self.len {
            self.reserve(len - self.len);
        }
        // All bytes of the capacity are initialised, because `grow` zeroes new memory.
        self.len = len;
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the values from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns the number of values that fit without growing.
    pub fn capacity(&self) -> usize {
        self.allocation.capacity / size_of::<T>()
    }

    /// Returns the size in bytes of the memory if it is not charged to a pool, otherwise 0.
    pub fn unpaid_bytes(&self) -> usize {
        if self.allocation.pool.is_some() { 0 } else { self.allocation.capacity }
    }

    fn pointer(&self) -> *mut T {
        self.allocation.start.as_ptr().cast::<T>()
    }

    /// Returns the values.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the first `len` values are initialised and inside the aligned allocation.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.len) }
    }

    /// Returns the values for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `self` is the sole owner of the allocation.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.len) }
    }

    /// Ends writing and returns the values as a shareable buffer.
    pub fn freeze(self) -> Buffer<T> {
        let BufferMut { allocation, len, .. } = self;
        Buffer { allocation: Arc::new(allocation), offset: 0, len, values: PhantomData }
    }
}

impl<T: Native> Default for BufferMut<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Native> Deref for BufferMut<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Native> DerefMut for BufferMut<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: Native> Extend<T> for BufferMut<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        let mut iter = iter.into_iter();
        let (lower, upper) = iter.size_hint();
        let start = self.len;
        self.resize_unspecified(start.saturating_add(lower));
        let slots = self.as_mut_slice().get_mut(start..).unwrap_or(&mut []);
        let mut filled = 0;
        if upper == Some(lower) {
            // The length is exact, so the loop needs no capacity check per value and can be
            // vectorised.
            slots.iter_mut().zip(iter).for_each(|(slot, value)| {
                *slot = value;
                filled += 1;
            });
            return self.truncate(start + filled);
        }
        slots.iter_mut().zip(&mut iter).for_each(|(slot, value)| {
            *slot = value;
            filled += 1;
        });
        self.truncate(start + filled);
        iter.for_each(|value| self.push(value));
    }
}

impl<T: Native> std::fmt::Debug for BufferMut<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BufferMut({} values)", self.len)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_buffer_is_aligned_padded_and_keeps_its_values_while_growing() {
        let mut buffer = BufferMut::<i32>::new();
        for i in 0..10_000 {
            buffer.push(i);
        }
        let buffer = buffer.freeze();
        assert_eq!(buffer.as_slice().as_ptr() as usize % ALIGNMENT, 0);
        assert!(buffer.slack() >= PADDING);
        assert!(buffer.iter().copied().eq(0..10_000));
        assert!(buffer.slice(10..20).iter().copied().eq(10..20));
    }

    #[test]
    fn memory_comes_back_for_writing_only_when_nobody_else_holds_it() {
        let buffer = Buffer::from_slice(&[1u64, 2, 3]);
        let other = buffer.clone();
        let buffer = buffer.into_mut().unwrap_err();
        drop(other);
        let mut buffer = buffer.into_mut().unwrap();
        buffer[0] = 7;
        assert_eq!(buffer.freeze().as_slice(), &[7, 2, 3]);
    }

    #[test]
    fn foreign_bytes_are_shared_without_a_copy_and_never_lent_for_writing() {
        let bytes = vec![1u8, 2, 3];
        let address = bytes.as_ptr();
        let buffer = Buffer::from_owner(bytes);
        assert_eq!(buffer.as_slice().as_ptr(), address);
        assert_eq!(buffer.slack(), 0);
        assert!(buffer.into_mut().is_err());
        assert!(Buffer::from_owner(Vec::new()).is_empty());
    }

    /// Lends bytes that are a part of itself and counts its drops.
    struct Inline([u8; 16], usize, Arc<std::sync::atomic::AtomicUsize>);

    impl AsRef<[u8]> for Inline {
        fn as_ref(&self) -> &[u8] {
            &self.0[..self.1]
        }
    }

    impl Drop for Inline {
        fn drop(&mut self) {
            self.2.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Under Miri this test shows that moving the buffer leaves the pointer into the owner valid.
    #[test]
    fn an_owner_may_lend_bytes_that_are_a_part_of_itself_and_is_dropped_once() {
        let drops = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        for lent in [0, 1, 16, 17] {
            let before = drops.load(std::sync::atomic::Ordering::Relaxed);
            let owner = Inline(std::array::from_fn(|i| i as u8), lent, Arc::clone(&drops));
            let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let buffer = Box::new(Buffer::from_owner(owner));
                let moved = vec![*buffer];
                let part = moved[0].slice(lent / 2..lent);
                assert!(moved[0].iter().copied().eq(0..lent as u8));
                drop(moved);
                assert!(part.iter().copied().eq(lent as u8 / 2..lent as u8));
            }));
            // The last owner panics in `as_ref`.
            assert_eq!(made.is_err(), lent == 17);
            assert_eq!(drops.load(std::sync::atomic::Ordering::Relaxed), before + 1);
        }
        assert_eq!(Buffer::from_owner([1u8; 16])[..], [1; 16]);
    }

    #[test]
    fn the_pool_sees_growth_and_release() {
        let root = MemoryPool::root("root", 1 << 20);
        let leaf = root.leaf("leaf");
        let mut buffer = BufferMut::<u64>::with_capacity_in(100, &leaf).unwrap();
        assert_eq!(leaf.used(), 832);
        buffer.resize(100, 5);
        let error = buffer.try_reserve(1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(buffer.as_slice(), &[5; 100]);
        buffer.reserve(1 << 18);
        assert!(leaf.used() > 1 << 20);
        drop(buffer.freeze());
        assert_eq!(root.used(), 0);
    }

    #[test]
    fn an_impossible_size_is_an_error_not_an_abort() {
        let mut buffer = BufferMut::<u64>::new();
        assert_eq!(buffer.try_reserve(usize::MAX / 4).unwrap_err().kind(), ErrorKind::Limit);
    }
}
