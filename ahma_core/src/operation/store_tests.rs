//! The store: states, limits, questions, watchers, and what is remembered.

use std::sync::Arc;
use std::time::Duration;

use super::super::{NewOperation, OperationEvent};
use super::*;

fn store(count: usize, unfinished: usize) -> OperationStore {
    let age = Duration::from_secs(3600);
    OperationStore::new(
        Retention {
            count,
            age,
            unfinished,
        },
        SpoolPlace::new(std::env::temp_dir(), Arc::default()),
    )
}

fn begin(store: &OperationStore, tool: &str) -> Arc<OperationHandle> {
    let new = NewOperation {
        tool: tool.to_owned(),
        working_directory: "/".into(),
        output_limit: None,
        command: String::new(),
        deadline: None,
        is_service: false,
        input: None,
        result: None,
        origin: "test".into(),
    };
    store.begin(new).unwrap()
}

fn end(store: &OperationStore, operation: &Arc<OperationHandle>) {
    store.end(operation, Completion::new(OperationState::Completed, None));
}

#[tokio::test]
async fn an_operation_goes_from_queued_to_its_end_and_stays_there() {
    let store = store(10, 10);
    let operation = begin(&store, "t");
    assert_eq!(operation.state(), OperationState::Queued);
    store.running(&operation);
    assert_eq!(operation.state(), OperationState::Running);
    end(&store, &operation);
    store.end(&operation, Completion::new(OperationState::Failed, None));
    store.running(&operation);
    assert_eq!(
        operation.state(),
        OperationState::Completed,
        "the first completion counts"
    );
    assert_eq!(operation.ended().await.state, OperationState::Completed);
    assert_eq!(operation.record().state, OperationState::Completed);
}

#[tokio::test]
async fn everyone_who_waits_learns_of_the_end() {
    let store = store(10, 10);
    let operation = begin(&store, "t");
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let operation = Arc::clone(&operation);
            tokio::spawn(async move { operation.ended().await.state })
        })
        .collect();
    tokio::task::yield_now().await;
    end(&store, &operation);
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap(), OperationState::Completed);
    }
}

/// Proves: O11.
#[tokio::test]
async fn only_so_many_unfinished_operations_are_taken() {
    let store = store(10, 3);
    let taken: Vec<_> = (0..3).map(|_| begin(&store, "t")).collect();
    let new = NewOperation {
        tool: "t".to_owned(),
        working_directory: "/".into(),
        output_limit: None,
        command: String::new(),
        deadline: None,
        is_service: false,
        input: None,
        result: None,
        origin: "test".into(),
    };
    let refused = store.begin(new.clone()).unwrap_err();
    assert!(matches!(refused, AdmissionError::Full(3)), "{refused}");
    end(&store, &taken[1]);
    assert!(store.begin(new).is_ok());
}

#[tokio::test]
async fn the_oldest_ended_operations_are_forgotten_first_and_running_ones_never() {
    let store = store(2, 100);
    let running = begin(&store, "running");
    let ended: Vec<_> = (0..5).map(|_| begin(&store, "ended")).collect();
    for operation in &ended {
        end(&store, operation);
    }
    let remembered: Vec<_> = store
        .query(&OperationFilter::default())
        .iter()
        .map(|it| it.id().clone())
        .collect();
    assert_eq!(
        remembered,
        [
            ended[4].id().clone(),
            ended[3].id().clone(),
            running.id().clone()
        ]
    );
    assert!(store.get(ended[0].id().as_str()).is_none());
    assert!(store.get(running.id().as_str()).is_some());
}

#[tokio::test(start_paused = true)]
async fn ended_operations_are_forgotten_after_an_hour() {
    let store = store(10, 10);
    let operation = begin(&store, "t");
    end(&store, &operation);
    tokio::time::advance(Duration::from_secs(3599)).await;
    assert!(store.get(operation.id().as_str()).is_some());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(store.get(operation.id().as_str()).is_none());
}

/// Proves: O11.
#[tokio::test]
async fn a_hundred_thousand_operations_leave_only_those_remembered() {
    let store = store(1_000, 10);
    for _ in 0..100_000 {
        end(&store, &begin(&store, "t"));
    }
    assert_eq!(store.query(&OperationFilter::default()).len(), 1_000);
}

/// Proves: O24.
#[tokio::test]
async fn states_are_counted_through_every_change() {
    let store = store(2, 10);
    let counts = || OperationState::ALL.map(|state| store.count(state));
    assert_eq!(counts(), [0; 7]);
    let operations: Vec<_> = (0..4).map(|_| begin(&store, "t")).collect();
    assert_eq!(counts(), [4, 0, 0, 0, 0, 0, 0]);
    store.running(&operations[0]);
    store.running(&operations[0]);
    assert_eq!(counts(), [3, 1, 0, 0, 0, 0, 0]);
    assert!(store.is_busy());
    end(&store, &operations[0]);
    end(&store, &operations[0]);
    store.end(&operations[1], Completion::cancelled("no".to_owned()));
    assert_eq!(counts(), [2, 0, 1, 0, 1, 0, 0]);
    for operation in &operations[2..] {
        store.end(operation, Completion::new(OperationState::Lost, None));
    }
    assert_eq!(counts(), [0, 0, 0, 0, 0, 0, 2], "two are remembered");
    assert!(!store.is_busy());
}

/// Proves: O24.
#[tokio::test]
async fn a_filter_finds_what_meets_all_its_conditions_newest_first() {
    let store = store(10, 10);
    let [one, two, three] = ["git_log", "git_add", "cargo"].map(|tool| begin(&store, tool));
    end(&store, &two);
    let found = |filter: OperationFilter| {
        let found = store.query(&filter);
        let ids: Vec<_> = found.iter().map(|it| it.id().clone()).collect();
        ids
    };
    let all = OperationFilter::default;
    let ids =
        |of: &[&Arc<OperationHandle>]| -> Vec<_> { of.iter().map(|it| it.id().clone()).collect() };
    assert_eq!(found(all()), ids(&[&three, &two, &one]));
    assert_eq!(found(OperationFilter::unfinished()), ids(&[&three, &one]));
    let git = vec!["git_".to_owned()];
    let filter = OperationFilter {
        tools: git.clone(),
        ..all()
    };
    assert_eq!(found(filter), ids(&[&two, &one]));
    let filter = OperationFilter {
        tools: git,
        ..OperationFilter::unfinished()
    };
    assert_eq!(found(filter), ids(&[&one]));
    let completed = Some(OperationState::Completed);
    let filter = OperationFilter {
        state: completed,
        ..all()
    };
    assert_eq!(found(filter), ids(&[&two]));
    let filter = OperationFilter {
        limit: Some(1),
        ..all()
    };
    assert_eq!(found(filter), ids(&[&three]));
    let id = Some(one.id().to_string());
    assert_eq!(found(OperationFilter { id, ..all() }), ids(&[&one]));
}

/// Proves: O25.
#[tokio::test]
async fn a_watcher_sees_every_change_and_the_growth_of_output() {
    let store = store(10, 10);
    let mut events = store.subscribe();
    let operation = begin(&store, "t");
    store.running(&operation);
    operation.write(b"four".to_vec()).await;
    end(&store, &operation);
    let mut states = Vec::new();
    for _ in 0..4 {
        states.push(match events.next().await.unwrap() {
            OperationEvent::Changed(record) => record.state.name().to_owned(),
            OperationEvent::Output { bytes, .. } => format!("{bytes} bytes"),
            OperationEvent::Missed(count) => format!("missed {count}"),
        });
    }
    assert_eq!(states, ["queued", "running", "4 bytes", "completed"]);
    drop(store);
    drop(operation);
    assert_eq!(events.next().await, None);
}

/// Proves: O25.
#[tokio::test]
async fn a_watcher_that_is_too_slow_is_told_how_much_it_missed() {
    let store = store(10, 10);
    let mut events = store.subscribe();
    let operation = begin(&store, "t");
    for _ in 0..1_000 {
        operation.write(b"x".to_vec()).await;
    }
    let first = events.next().await.unwrap();
    assert_eq!(first, OperationEvent::Missed(1_001 - 256));
    let next = events.next().await.unwrap();
    let id = operation.id().clone();
    assert_eq!(
        next,
        OperationEvent::Output {
            id,
            bytes: 1_000 - 255
        }
    );
}

/// What `/health` asks. While the collection is locked nobody can look at an operation, so an answer that comes meanwhile
/// costs the same with one remembered operation as with a thousand.
///
/// Proves: H19.
#[test]
fn operations_are_counted_without_looking_at_them() {
    let store = store(1000, 1000);
    for number in 0..1000 {
        let operation = begin(&store, "t");
        if number >= 2 {
            end(&store, &operation);
        }
    }
    let counted = std::thread::scope(|threads| {
        let locked = store.lock();
        let (tell, told) = std::sync::mpsc::channel();
        let store = &store;
        threads.spawn(move || {
            let states = [OperationState::Queued, OperationState::Completed];
            let _ = tell.send(states.map(|state| store.count(state)));
        });
        let counted = told.recv_timeout(Duration::from_secs(10));
        drop(locked);
        counted
    });
    assert_eq!(counted, Ok([2, 998]));
}
