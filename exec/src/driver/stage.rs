//! One operator within its driver: measures its calls and adds the operator to its errors.
//!
//! A driver reads the clock once between two calls: the time between two readings is attributed to
//! the call before the second one (rules S15.59, S15.60). An operator may load columns that the
//! scan left lazy; their load time is attributed to the driver's first operator (rule S15.20).
//! Reading the CPU clock of a thread is slow on many machines, so it is read only when requested.
//! The same holds for the time of `is_blocked` calls, which are short and frequent.

use std::time::{Duration, Instant};

use vector::metrics::RuntimeMetric;
use vector::sync::thread_cpu_time;
use vector::{Error, LazyLoads, MemoryPool, MetricUnit, PoolScope, lazy_loads, measure_lazy_loads};

use crate::blocking::BlockingReason;
use crate::operator::Operator;
use crate::plan::PlanNodeId;
use crate::stats::OperatorStats;

/// Parameters of one operator of a driver, created by its task.
pub struct StageParams {
    /// The operator.
    pub operator: Box<dyn Operator>,
    /// Name of the operator.
    pub name: &'static str,
    /// Plan node of the operator; `None` for operators that the task adds itself.
    pub node: Option<PlanNodeId>,
    /// Memory pool that the buffers of the operator are charged to.
    pub pool: Option<MemoryPool>,
}

impl StageParams {
    /// Returns the parameters of an operator that the task adds itself.
    pub fn of_task(operator: impl Operator + 'static, name: &'static str) -> Self {
        StageParams { operator: Box::new(operator), name, node: None, pool: None }
    }
}

/// Calls that are measured separately (rule S15.60).
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

/// An operator, its counters, and its state within the driver.
pub(super) struct Stage {
    pub(super) operator: Box<dyn Operator>,
    pub(super) stats: OperatorStats,
    pub(super) pool: Option<MemoryPool>,
    /// True when the operator was notified of the end of its input.
    pub(super) input_ended: bool,
    calls: [RuntimeMetric; Call::ALL.len()],
    lazy: LazyMetrics,
}

/// Time and bytes spent on loading lazy columns within the operator.
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

    /// Charges the buffers of the following call to the operator's pool, until the scope is
    /// dropped.
    pub(super) fn pool_scope(&self) -> Option<PoolScope> {
        self.pool.as_ref().map(PoolScope::enter)
    }

    pub(super) fn add_time(&mut self, call: Call, spent: Spent) {
        self.calls[call as usize].add(signed(spent.wall));
        self.stats.wall_nanos += nanos(spent.wall);
        self.stats.cpu_nanos += spent.cpu.map_or(0, nanos);
    }

    /// Adds the cost of lazy columns that were loaded within the operator.
    pub(super) fn add_lazy_loads(&mut self, loads: LazyLoads) {
        self.lazy.wall.add(signed(loads.wall));
        if !loads.cpu.is_zero() {
            self.lazy.cpu.add(signed(loads.cpu));
        }
        if loads.bytes > 0 {
            self.lazy.bytes.add(i64::try_from(loads.bytes).unwrap_or(i64::MAX));
        }
    }

    /// Adds one wait of the driver for this operator (rule S15.57).
    pub(super) fn add_blocked_time(&mut self, reason: BlockingReason, time: Duration) {
        let runtime = &mut self.stats.runtime;
        runtime.add_time(reason.wall_metric(), time);
        runtime.add_count(reason.times_metric(), 1);
        // A driver that yields is not blocked.
        if reason != BlockingReason::Yield {
            self.stats.num_blocked += 1;
            self.stats.blocked_nanos += nanos(time);
        }
    }

    /// Collects the final counters and closes the operator.
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

    /// Adds the operator to the context of the error.
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

/// Cost of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) wall: Duration,
    /// CPU time, if it is measured.
    pub(super) cpu: Option<Duration>,
    /// The part of the cost that was spent on loading lazy columns.
    pub(super) lazy: LazyLoads,
}

/// Clocks of a driver: each reading ends one interval and begins the next.
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

    /// Starts measuring on this thread. The time before is not attributed to any operator.
    pub(super) fn begin(&mut self) {
        measure_lazy_loads(self.track_cpu);
        self.look();
    }

    fn look(&mut self) {
        self.wall = Instant::now();
        self.cpu = if self.track_cpu { thread_cpu_time() } else { None };
        self.lazy = lazy_loads();
    }

    /// Returns the cost since the last reading.
    pub(super) fn read(&mut self) -> Spent {
        let last = (self.wall, self.cpu, self.lazy);
        self.look();
        let wall = self.wall.saturating_duration_since(last.0);
        let cpu = self.cpu.zip(last.1).map(|(now, last)| now.saturating_sub(last));
        Spent { wall, cpu, lazy: self.lazy.since(last.2) }
    }

    /// Like [`Meter::read`], but reads only the wall clock, for short calls.
    pub(super) fn read_wall(&mut self) -> Spent {
        let last = std::mem::replace(&mut self.wall, Instant::now());
        let wall = self.wall.saturating_duration_since(last);
        Spent { wall, cpu: None, lazy: LazyLoads::default() }
    }

    /// Returns the time of the last reading.
    pub(super) fn last(&self) -> Instant {
        self.wall
    }
}
