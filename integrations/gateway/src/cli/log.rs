//! Log on the error output: text on a terminal, JSON otherwise. No call waits for a slow reader.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Most lines that wait to be written.
const LINES: usize = 1_024;

/// Time for the last lines when the process ends.
const LAST: Duration = Duration::from_secs(1);

/// Queue of log lines. It counts the lines that it has no room for.
#[derive(Clone)]
pub(super) struct LogQueue {
    queue: SyncSender<LogJob>,
    lost: Arc<AtomicU64>,
}

enum LogJob {
    Line(Vec<u8>),
    /// Answers when everything before it is written.
    Flush(SyncSender<()>),
}

/// Starts the log. It takes lines of our own crates only: other crates may log content.
pub(super) fn begin() -> Result<LogQueue, String> {
    let level = match std::env::var("CUPEL_LOG") {
        Ok(level) => level.parse().map_err(|_| {
            format!("CUPEL_LOG is {level:?}, expected off, error, warn, info, debug or trace")
        })?,
        Err(_) => LevelFilter::INFO,
    };
    let (queue, jobs) = sync_channel(LINES);
    let log = LogQueue { queue, lost: Arc::default() };
    let lost = Arc::clone(&log.lost);
    let writer = std::thread::Builder::new().name("log".to_owned());
    writer
        .spawn(move || write(&jobs, &lost, &mut io::stderr()))
        .map_err(|error| format!("cannot start a thread for the log: {error}"))?;
    let ours = Targets::new().with_target("cupel", level).with_target("cupel_gateway", level);
    let line = log.clone();
    let layer = tracing_subscriber::fmt::layer().with_writer(move || line.clone());
    let registry = tracing_subscriber::registry().with(ours);
    if io::stderr().is_terminal() {
        drop(registry.with(layer).try_init());
    } else {
        drop(
            registry
                .with(
                    layer.json().flatten_event(true).with_current_span(false).with_span_list(false),
                )
                .try_init(),
        );
    }
    Ok(log)
}

impl LogQueue {
    /// Waits until the last lines are written, at most [`LAST`].
    pub(super) fn end(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.try_send(LogJob::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(LAST);
        }
    }
}

impl Write for LogQueue {
    /// Takes a whole line: the subscriber writes each in one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(LogJob::Line(line.to_vec())) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(jobs: &Receiver<LogJob>, lost: &AtomicU64, out: &mut impl Write) {
    for job in jobs {
        match job {
            LogJob::Line(line) => drop(out.write_all(&line)),
            LogJob::Flush(done) => drop(done.try_send(())),
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let lines = format!("{{\"level\":\"WARN\",\"lost_log_lines\":{lost}}}\n");
            drop(out.write_all(lines.as_bytes()));
        }
    }
}
