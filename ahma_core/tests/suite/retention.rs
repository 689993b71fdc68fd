//! The store: states, limits, and what is remembered.

use std::sync::Arc;
use std::time::Duration;

use ahma_core::operation::{
    AdmissionError, Completion, NewOperation, Operation, OperationState, OperationStore, Retention,
};
use ahma_core::output::SpoolPlace;

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

fn begin(store: &OperationStore, tool: &str) -> Arc<Operation> {
    let new = NewOperation {
        tool: tool.to_owned(),
        working_directory: "/".into(),
        output_limit: None,
    };
    store.begin(new).unwrap()
}

fn end(store: &OperationStore, operation: &Operation) {
    store.end(operation, Completion::of(OperationState::Completed, None));
}

#[tokio::test]
async fn an_operation_goes_from_queued_to_its_end_and_stays_there() {
    let store = store(10, 10);
    let operation = begin(&store, "t");
    assert_eq!(operation.state(), OperationState::Queued);
    store.running(&operation);
    assert_eq!(operation.state(), OperationState::Running);
    end(&store, &operation);
    store.end(&operation, Completion::of(OperationState::Failed, None));
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
    };
    assert_eq!(
        store.begin(new.clone()).unwrap_err(),
        AdmissionError::Full(3)
    );
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
        .newest_first()
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
    assert_eq!(store.newest_first().len(), 1_000);
}
