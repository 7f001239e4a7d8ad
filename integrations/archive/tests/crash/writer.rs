//! A process that writes until it is killed, and how to look at what it left.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use cupel_archive::{Append, Archive, ArchiveEmbedder, ArchiveMessage};

use crate::support::embedders::Synonyms;

/// Conversations that one writer writes to in turns.
const CONVERSATIONS: usize = 3;

/// The body of the process: appends without end, and says what was acknowledged.
#[test]
#[ignore = "is started by the other tests"]
fn write_until_killed() {
    let Ok(address) = std::env::var("CUPEL_TEST_ARCHIVE") else { return };
    let run = std::env::var("CUPEL_TEST_RUN").unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let mut archive = Archive::builder(address);
        if std::env::var_os("CUPEL_TEST_EMBEDDER").is_some() {
            archive = archive.embedder(ArchiveEmbedder::new(Synonyms::new("m")));
        }
        let archive = archive.open().await.unwrap();
        let tenant = archive.namespace("t").unwrap();
        let writers = (0..CONVERSATIONS).map(|conversation| {
            let handle = tenant.conversation(conversation.to_string()).unwrap();
            let run = run.clone();
            tokio::spawn(async move {
                for append in 0.. {
                    let parts = append % 3 + 1;
                    let message = |part| {
                        ArchiveMessage::user(format!("run {run} append {append} part {part}"))
                    };
                    let messages = Append::new((0..parts).map(message));
                    let Ok(appended) = handle.append(messages).await else { continue };
                    // One write, so that a line is there or not.
                    let line = format!(
                        "ack {conversation} {} {run} {append} {parts}\n",
                        appended.numbers().start()
                    );
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                    std::io::stdout().flush().unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            let _ = writer.await;
        }
    });
}

/// An append that was acknowledged: conversation, first number, run, append, parts.
type Acknowledged = (String, i64, String, usize, usize);

/// A running writer.
pub(crate) struct Writer {
    child: Child,
    acknowledged: Arc<Mutex<Vec<Acknowledged>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(address: &str, run: usize) -> Self {
        Self::started(address, run, &[])
    }

    /// Starts a writer that embeds its messages as well.
    pub(crate) fn start_embedding(address: &str, run: usize) -> Self {
        Self::started(address, run, &[("CUPEL_TEST_EMBEDDER", "1")])
    }

    fn started(address: &str, run: usize, more: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs(more.iter().copied())
            .args(["--exact", "writer::write_until_killed", "--ignored", "--nocapture"])
            .env("CUPEL_TEST_ARCHIVE", address)
            .env("CUPEL_TEST_RUN", run.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let acknowledged = Arc::<Mutex<Vec<Acknowledged>>>::default();
        let into = Arc::clone(&acknowledged);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Some(at) = line.find("ack ") else { continue };
                let fields: Vec<&str> = line[at..].split(' ').collect();
                let [_, conversation, first, run, append, parts] = fields[..] else { continue };
                into.lock().unwrap().push((
                    conversation.to_owned(),
                    first.parse().unwrap(),
                    run.to_owned(),
                    append.parse().unwrap(),
                    parts.parse().unwrap(),
                ));
            }
        });
        Self { child, acknowledged, reader: Some(reader) }
    }

    /// Number of acknowledged appends so far.
    pub(crate) fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Kills the process with a signal that it cannot see coming, and returns what it said before.
    pub(crate) fn kill(mut self) -> Vec<Acknowledged> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        std::mem::take(&mut *self.acknowledged.lock().unwrap())
    }
}

/// Looks whether everything that was acknowledged is there, once and in order, and whether what else
/// is there is whole appends.
pub(crate) async fn check(archive: &Archive, acknowledged: &[Acknowledged]) {
    let tenant = archive.namespace("t").unwrap();
    for conversation in 0..CONVERSATIONS {
        let name = conversation.to_string();
        let stored = tenant.conversation(name.as_str()).unwrap().recent(u32::MAX).await.unwrap();
        assert!(stored.windows(2).all(|two| two[0].number < two[1].number), "numbers ascend");
        let mut at: HashMap<&str, i64> = HashMap::new();
        for stored in &stored {
            let twice = at.insert(&stored.message.content, stored.number);
            assert_eq!(twice, None, "{:?} is there twice", stored.message.content);
        }
        for (_, first, run, append, parts) in acknowledged.iter().filter(|it| it.0 == name) {
            for part in 0..*parts {
                let text = format!("run {run} append {append} part {part}");
                let number = at.get(text.as_str()).copied();
                assert_eq!(number, Some(first + part as i64), "{text} was acknowledged");
            }
        }
        // All or nothing: an append of three has a third part where it has a first.
        for text in at.keys() {
            let (head, part) = text.rsplit_once(' ').unwrap();
            let append: usize = head.split(' ').nth(3).unwrap().parse().unwrap();
            let last = format!("{head} {}", append % 3);
            assert!(at.contains_key(last.as_str()), "{text} is there without {last}, part {part}");
        }
    }
}
