//! Driver slots: hold the drivers of the executor's workers while they are off their threads.
//!
//! | `run` ends with | then |
//! |---|---|
//! | Block, Pause | parked; the end of the wait or the stop of the task enqueues it, once |
//! | Yield, Barrier | enqueued at the tail |
//! | AtEnd, Terminate, error | closed, and its ticket is released |
//!
//! A driver is parked before the callback of its wait is registered, so the wait may already be
//! over at that time (rule S11.45).

use vector::sync::{Arc, Continuation, Mutex};
use vector::{Error, Result};

use super::{Driver, Step, StopReason};
use crate::executor::Executor;

/// Runs a driver on the executor's workers. Its last operator must be a sink.
pub fn launch(executor: &Arc<Executor>, driver: Driver) {
    let seat = Arc::new(Seat { executor: Arc::clone(executor), parked: Mutex::new(None) });
    // A weak reference: the stop hook of the task must not keep the driver alive.
    let waker = Arc::downgrade(&seat);
    driver.termination().on_stop(Box::new(move || {
        if let Some(seat) = waker.upgrade() {
            seat.resume(Ok(()));
        }
    }));
    seat.enqueue(driver);
}

struct Seat {
    executor: Arc<Executor>,
    parked: Mutex<Option<Driver>>,
}

impl Seat {
    fn enqueue(self: &Arc<Self>, mut driver: Driver) {
        let seat = Arc::clone(self);
        driver.queued();
        self.executor.run(Box::new(move || seat.work(driver)));
    }

    fn work(self: Arc<Self>, mut driver: Driver) {
        match driver.run() {
            Ok(Step::Stop(StopReason::Yield) | Step::Barrier(_)) => self.enqueue(driver),
            Ok(Step::Stop(StopReason::Block(blocked))) => self.park(driver, blocked.until),
            Ok(Step::Stop(StopReason::Pause(resumed))) => self.park(driver, resumed),
            Ok(Step::Stop(StopReason::AtEnd | StopReason::Terminate)) => driver.close(),
            Ok(Step::Output(_)) => {
                driver.fail(Error::internal("a driver on a worker has no sink"));
            }
            Err(error) => driver.fail(error),
        }
    }

    fn park(self: &Arc<Self>, driver: Driver, until: Continuation) {
        let termination = Arc::clone(driver.termination());
        *self.parked.lock() = Some(driver);
        let seat = Arc::clone(self);
        until.on_ready(move |outcome| seat.resume(outcome));
        // The stop hook may have run before the driver was parked.
        if termination.should_stop() {
            self.resume(Ok(()));
        }
    }

    fn resume(self: &Arc<Self>, outcome: Result<()>) {
        let parked = self.parked.lock().take();
        let Some(driver) = parked else { return };
        if let Err(error) = outcome {
            driver.termination().fail(driver.place_wait(error));
        }
        self.enqueue(driver);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::blocking::{Blocked, BlockingReason};
    use crate::control::barrier::Barriers;
    use crate::control::threads::TaskThreads;
    use crate::driver::{DriverParams, StageParams};
    use crate::operator::Operator;
    use crate::termination::{TaskState, Termination};
    use vector::RowVector;
    use vector::sync::atomic::{AtomicUsize, Ordering};
    use vector::sync::{ModelArc, promise, thread};

    /// A sink that blocks once and then is finished.
    struct Waiting {
        until: Option<Continuation>,
        closes: ModelArc<AtomicUsize>,
    }

    impl Operator for Waiting {
        fn needs_input(&self) -> bool {
            false
        }
        fn add_input(&mut self, _: RowVector) -> Result<()> {
            Ok(())
        }
        fn get_output(&mut self) -> Result<Option<RowVector>> {
            Ok(None)
        }
        fn is_blocked(&mut self) -> Option<Blocked> {
            let until = self.until.take()?;
            Some(Blocked::new(BlockingReason::WaitForConsumer, until))
        }
        fn no_more_input(&mut self) {}
        fn is_finished(&self) -> bool {
            true
        }
        fn close(&mut self) {
            self.closes.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn driver(until: Continuation, closes: &ModelArc<AtomicUsize>) -> (Arc<Termination>, Driver) {
        let termination = Termination::new();
        let params = DriverParams {
            pipeline: 0,
            ticket: termination.enter(),
            barriers: Arc::<Barriers>::default().enter(),
            threads: Arc::new(TaskThreads::default()),
            time_slice: None,
            memory: None,
            validate: true,
            track_cpu: false,
            stats: Arc::default(),
        };
        let waiting = Waiting { until: Some(until), closes: ModelArc::clone(closes) };
        let driver = Driver::new(vec![StageParams::of_task(waiting, "Waiting")], params).unwrap();
        (termination, driver)
    }

    #[test]
    fn loom_a_parked_driver_is_taken_out_once_by_its_wait_or_by_the_stop() {
        loom::model(|| {
            let closes = ModelArc::new(AtomicUsize::new(0));
            let (promise, until) = promise();
            let (termination, driver) = driver(until, &closes);
            let executor = Arc::new(Executor::new(1));
            launch(&executor, driver);
            let stopped = Arc::clone(&termination);
            let stopper = thread::spawn(move || stopped.cancel());
            promise.fulfil();
            termination.all_out().wait().unwrap();
            stopper.join().unwrap();
            assert_eq!(closes.load(Ordering::SeqCst), 1);
            assert_eq!(termination.state(), TaskState::Cancelled);
        });
    }

    #[test]
    fn loom_a_driver_that_a_dropped_cursor_leaves_to_a_worker_is_closed_once() {
        loom::model(|| {
            let closes = ModelArc::new(AtomicUsize::new(0));
            let (_promise, until) = promise();
            let (termination, driver) = driver(until, &closes);
            let executor = Arc::new(Executor::new(1));
            let stopped = Arc::clone(&termination);
            let stopper = thread::spawn(move || stopped.cancel());
            termination.cancel();
            executor.run(Box::new(move || drop(driver)));
            termination.all_out().wait().unwrap();
            stopper.join().unwrap();
            assert_eq!(closes.load(Ordering::SeqCst), 1);
            assert_eq!(termination.state(), TaskState::Cancelled);
        });
    }
}
