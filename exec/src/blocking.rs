//! The reasons for which an operator is blocked, and the wait that ends when it can proceed.

use vector::sync::Continuation;

macro_rules! blocking_reasons {
    ($($(#[$doc:meta])* $reason:ident),* $(,)?) => {
        /// The reason why an operator cannot proceed.
        ///
        /// The reasons are those of Velox (S11.43). An operator with too little memory waits for it
        /// itself (`WaitForMemory`); `WaitForArbitration` is a scan that reads no further while
        /// another driver of its task waits for memory.
        ///
        /// No operator of this engine reports `WaitForJoinProbe`, `WaitForMergeJoinRightSide`,
        /// `WaitForIndexLookup`, `WaitForIndexSplits`, `WaitForRpc` or `WaitForAggregationPeers`,
        /// because it has no operators that wait in these ways; traces may contain their names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum BlockingReason {
            $($(#[$doc])* $reason),*
        }

        impl BlockingReason {
            /// All reasons.
            pub const ALL: &'static [BlockingReason] = &[$(BlockingReason::$reason),*];

            /// Returns the name of the reason, which is the name of its variant.
            pub fn name(self) -> &'static str {
                match self {
                    $(BlockingReason::$reason => stringify!($reason)),*
                }
            }

            /// Returns the name of the metric `blocked<Reason>WallNanos`, which sums the wall time
            /// of the waits for this reason in nanoseconds (S15.57).
            pub fn wall_metric(self) -> &'static str {
                match self {
                    $(BlockingReason::$reason =>
                        concat!("blocked", stringify!($reason), "WallNanos")),*
                }
            }

            /// Returns the name of the metric `blocked<Reason>Times`, which counts the waits for
            /// this reason (S15.57).
            pub fn times_metric(self) -> &'static str {
                match self {
                    $(BlockingReason::$reason =>
                        concat!("blocked", stringify!($reason), "Times")),*
                }
            }
        }
    };
}
blocking_reasons!(
    /// An exchange sink waits until its consumers have taken batches from a full queue.
    WaitForConsumer,
    /// A scan waits until a split is added or the end of splits is signalled.
    WaitForSplit,
    /// An exchange source or a local merge waits for a batch or the end of its producers.
    WaitForProducer,
    /// A hash join probe waits for the completed hash table, or a scan for the dynamic filters of
    /// the build side.
    WaitForJoinBuild,
    /// A hash join build waits for the probe side to finish; never reported by this engine.
    WaitForJoinProbe,
    /// A merge join waits for rows of its right side; never reported by this engine.
    WaitForMergeJoinRightSide,
    /// An operator waits until the memory pool can reserve the bytes that it requires.
    WaitForMemory,
    /// A scan waits for its connector, for instance for a split that is being prepared.
    WaitForConnector,
    /// A scan is ready to proceed but returns its thread to other drivers.
    Yield,
    /// A scan reads no further while another driver of its task waits for memory.
    WaitForArbitration,
    /// A scan driver waits until scan scaling starts it.
    WaitForScanScaleUp,
    /// An index join waits for the result of a lookup; never reported by this engine.
    WaitForIndexLookup,
    /// An index join waits for the splits of its index; never reported by this engine.
    WaitForIndexSplits,
    /// An operator waits for a remote procedure call; never reported by this engine.
    WaitForRpc,
    /// An aggregation waits for the partial groups of its peer drivers; never reported by this
    /// engine.
    WaitForAggregationPeers,
);

/// The state of a blocked operator: the reason, and the continuation that ends the wait.
#[derive(Debug)]
pub struct Blocked {
    /// The reason why the operator cannot proceed.
    pub reason: BlockingReason,
    /// The continuation that becomes ready when the operator may be able to proceed.
    pub until: Continuation,
}

impl Blocked {
    /// Creates a wait on `until` because of `reason`.
    pub fn new(reason: BlockingReason, until: Continuation) -> Self {
        Blocked { reason, until }
    }
}
