//! One operator in its driver: its calls, measured, and its errors, placed.
//!
//! A driver reads the clock once between two calls: what passes from one reading to the next is the
//! time of the call before it (rules S15.59, S15.60). Columns that an operator loads were left to it
//! by the scan; the time goes to the driver's first operator (rule S15.20). The clock of the
//! thread's CPU is slow on many machines, and is read only when asked for; so is the time of asking an
//! operator whether it waits, which is short and comes often.

use std::time::{Duration, Instant};

use vector::metrics::RuntimeMetric;
use vector::sync::thread_cpu_time;
use vector::{Error, LazyLoads, MemoryPool, MetricUnit, PoolScope, lazy_loads, measure_lazy_loads};

use crate::blocking::BlockingReason;
use crate::operator::Operator;
use crate::plan::PlanNodeId;
use crate::stats::OperatorStats;

/// An operator as its task makes it.
pub struct StageParams {
    /// The operator.
    pub operator: Box<dyn Operator>,
    /// What it is called.
    pub name: &'static str,
    /// The plan node it works for; none for what the task put in itself.
    pub node: Option<PlanNodeId>,
    /// The pool that pays for what it holds.
    pub pool: Option<MemoryPool>,
}

impl StageParams {
    /// An operator that the task put in itself.
    pub fn of_task(operator: impl Operator + 'static, name: &'static str) -> Self {
        StageParams { operator: Box::new(operator), name, node: None, pool: None }
    }
}

/// Calls whose time is told apart (rule S15.60).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    AddInput,
    GetOutput,
    Finish,
    IsBlocked,
}

impl Call {
    const ALL: [(Call, &'static str); 4] = [
        (Call::AddInput, "runningAddInputWallNanos"),
        (Call::GetOutput, "runningGetOutputWallNanos"),
        (Call::Finish, "runningFinishWallNanos"),
        (Call::IsBlocked, "runningIsBlockedWallNanos"),
    ];
}

/// An operator, what it counted, and where it is in its life.
pub(super) struct Stage {
    pub(super) operator: Box<dyn Operator>,
    pub(super) stats: OperatorStats,
    pub(super) pool: Option<MemoryPool>,
    /// The operator before has finished and this one knows.
    pub(super) input_ended: bool,
    calls: [RuntimeMetric; Call::ALL.len()],
    lazy: LazyMetrics,
}

/// What loading columns that were left to an operator took.
#[derive(Debug)]
struct LazyMetrics {
    wall: RuntimeMetric,
    cpu: RuntimeMetric,
    bytes: RuntimeMetric,
}

impl Stage {
    pub(super) fn new(params: StageParams) -> Self {
        let StageParams { operator, name, node, pool } = params;
        let stats = OperatorStats { operator: name, node, num_drivers: 1, ..Default::default() };
        Stage {
            operator,
            stats,
            pool,
            input_ended: false,
            calls: [RuntimeMetric::new(MetricUnit::Nanos); Call::ALL.len()],
            lazy: LazyMetrics {
                wall: RuntimeMetric::new(MetricUnit::Nanos),
                cpu: RuntimeMetric::new(MetricUnit::Nanos),
                bytes: RuntimeMetric::new(MetricUnit::Bytes),
            },
        }
    }

    /// Has the operator's pool pay for the buffers of the call that follows.
    pub(super) fn pool_scope(&self) -> Option<PoolScope> {
        self.pool.as_ref().map(PoolScope::enter)
    }

    pub(super) fn add_time(&mut self, call: Call, spent: Spent) {
        self.calls[call as usize].add(signed(spent.wall));
        self.stats.wall_nanos += nanos(spent.wall);
        self.stats.cpu_nanos += spent.cpu.map_or(0, nanos);
    }

    /// Columns that were left to the operator were loaded.
    pub(super) fn add_lazy_loads(&mut self, loads: LazyLoads) {
        self.lazy.wall.add(signed(loads.wall));
        if !loads.cpu.is_zero() {
            self.lazy.cpu.add(signed(loads.cpu));
        }
        if loads.bytes > 0 {
            self.lazy.bytes.add(i64::try_from(loads.bytes).unwrap_or(i64::MAX));
        }
    }

    /// The operator was waited for (rule S15.57).
    pub(super) fn add_blocked_time(&mut self, reason: BlockingReason, time: Duration) {
        let runtime = &mut self.stats.runtime;
        runtime.add_time(reason.wall_metric(), time);
        runtime.add_count(reason.times_metric(), 1);
        // Who yields could go on.
        if reason != BlockingReason::Yield {
            self.stats.num_blocked += 1;
            self.stats.blocked_nanos += nanos(time);
        }
    }

    /// Takes the last counters and lets go of everything.
    pub(super) fn close(&mut self) {
        self.operator.add_stats(&mut self.stats);
        if let Some(pool) = &self.pool {
            self.stats.peak_bytes = pool.parent().unwrap_or(pool).peak();
        }
        self.operator.close();
        let runtime = &mut self.stats.runtime;
        for ((_, name), metric) in Call::ALL.iter().zip(&self.calls) {
            if metric.count > 0 {
                runtime.add_metric(name, metric);
            }
        }
        for (name, metric) in [
            ("dataSourceLazyWallNanos", &self.lazy.wall),
            ("dataSourceLazyCpuNanos", &self.lazy.cpu),
            ("dataSourceLazyInputBytes", &self.lazy.bytes),
        ] {
            if metric.count > 0 {
                runtime.add_metric(name, metric);
            }
        }
        if self.stats.cpu_nanos > 0 {
            runtime.add_time("driverCpuTimeNanos", Duration::from_nanos(self.stats.cpu_nanos));
        }
    }

    /// The error with this operator as its place.
    pub(super) fn frame(&self, error: Error) -> Error {
        match &self.stats.node {
            Some(node) => error.in_named("operator", format!("{}[{node}]", self.stats.operator)),
            None => error.in_named("operator", self.stats.operator),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn signed(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// What a call took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) wall: Duration,
    /// Time of the CPU, when it is measured.
    pub(super) cpu: Option<Duration>,
    /// What of it went into lazy columns.
    pub(super) lazy: LazyLoads,
}

/// The clocks of a driver: each reading ends one time and begins the next.
#[derive(Debug)]
pub(super) struct Meter {
    track_cpu: bool,
    wall: Instant,
    cpu: Option<Duration>,
    lazy: LazyLoads,
}

impl Meter {
    pub(super) fn new(track_cpu: bool) -> Self {
        Meter { track_cpu, wall: Instant::now(), cpu: None, lazy: LazyLoads::default() }
    }

    /// Begins on this thread: what passed before belongs to nobody.
    pub(super) fn begin(&mut self) {
        measure_lazy_loads(self.track_cpu);
        self.look();
    }

    fn look(&mut self) {
        self.wall = Instant::now();
        self.cpu = if self.track_cpu { thread_cpu_time() } else { None };
        self.lazy = lazy_loads();
    }

    /// The time since the last reading.
    pub(super) fn read(&mut self) -> Spent {
        let last = (self.wall, self.cpu, self.lazy);
        self.look();
        let wall = self.wall.saturating_duration_since(last.0);
        let cpu = self.cpu.zip(last.1).map(|(now, last)| now.saturating_sub(last));
        Spent { wall, cpu, lazy: self.lazy.since(last.2) }
    }

    /// As [`Meter::read`], by the wall clock alone, for what is short.
    pub(super) fn read_wall(&mut self) -> Spent {
        let last = std::mem::replace(&mut self.wall, Instant::now());
        let wall = self.wall.saturating_duration_since(last);
        Spent { wall, cpu: None, lazy: LazyLoads::default() }
    }

    /// When the clock was read last.
    pub(super) fn last(&self) -> Instant {
        self.wall
    }
}
