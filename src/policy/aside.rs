//! Files that are read where reading them holds no task up.

use std::panic::resume_unwind;

use tokio::task::{JoinHandle, spawn_blocking};

/// What `read` says; nothing where the process ends before it was begun.
pub(crate) async fn read_aside<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    said(spawn_blocking(read)).await
}

async fn said<T>(reading: JoinHandle<T>) -> Option<T> {
    match reading.await {
        Ok(said) => Some(said),
        // A runtime that ends begins nothing anew.
        Err(ended) if ended.is_cancelled() => None,
        Err(panicked) => resume_unwind(panicked.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_runtime_that_ends_before_a_file_is_read_says_nothing() {
        let ending = Builder::new_current_thread().build().expect("a runtime");
        let handle = ending.handle().clone();
        ending.shutdown_background();
        let reading = handle.spawn_blocking(|| "read");

        let going_on = Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(going_on.block_on(said(reading)), None);
    }
}
