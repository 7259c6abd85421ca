//! Why an operator cannot proceed, and the wait that ends when it can.

use vector::sync::Continuation;

macro_rules! blocking_reasons {
    ($($reason:ident),* $(,)?) => {
        /// Why an operator cannot go on (rule S11.43).
        ///
        /// Whoever has too little memory waits for it itself; `WaitForArbitration` is a scan that makes
        /// no more while another driver of its query waits so. Some reasons of Velox name what there
        /// is not here: tables that wait for those who look them up to write rows out
        /// (`WaitForJoinProbe`), joins of sorted sides (`WaitForMergeJoinRightSide`), look-ups in
        /// indexes (`WaitForIndexLookup`, `WaitForIndexSplits`), calls of other machines
        /// (`WaitForRpc`) and partial groups that are put together by their drivers
        /// (`WaitForAggregationPeers`). No operator gives them; traces may name them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum BlockingReason {
            $($reason),*
        }

        impl BlockingReason {
            /// All reasons.
            pub const ALL: &'static [BlockingReason] = &[$(BlockingReason::$reason),*];

            /// The reason's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(BlockingReason::$reason => stringify!($reason)),*
                }
            }

            /// The metric of the time of waits for this reason (rule S15.57).
            pub fn wall_metric(self) -> &'static str {
                match self {
                    $(BlockingReason::$reason =>
                        concat!("blocked", stringify!($reason), "WallNanos")),*
                }
            }

            /// The metric of the number of waits for this reason (rule S15.57).
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
    WaitForConsumer,
    WaitForSplit,
    WaitForProducer,
    WaitForJoinBuild,
    WaitForJoinProbe,
    WaitForMergeJoinRightSide,
    WaitForMemory,
    WaitForConnector,
    Yield,
    WaitForArbitration,
    WaitForScanScaleUp,
    WaitForIndexLookup,
    WaitForIndexSplits,
    WaitForRpc,
    WaitForAggregationPeers,
);

/// A wait: why, and what ends it.
#[derive(Debug)]
pub struct Blocked {
    /// Why.
    pub reason: BlockingReason,
    /// Ready when it is worth asking again.
    pub until: Continuation,
}

impl Blocked {
    /// Waits on `until` because of `reason`.
    pub fn new(reason: BlockingReason, until: Continuation) -> Self {
        Blocked { reason, until }
    }
}
