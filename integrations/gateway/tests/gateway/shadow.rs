//! Shadow mode, and the share of conversations that are fitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::Source;
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;
use cupel_gateway::{Config, GatewayMode};
use serde_json::json;

use crate::support::{Running, chat, config, http, ok_server};

fn shadow(url: &str) -> Config {
    let mut config = config(url);
    config.rollout.mode = GatewayMode::Shadow;
    config
}

async fn post(gateway: &Running, body: &[u8], conversation: &str) -> reqwest::Response {
    let request = http().post(gateway.url("/v1/chat/completions"));
    let request = request.header("content-type", "application/json");
    let request = request.header("x-cupel-conversation", conversation);
    request.body(body.to_vec()).send().await.unwrap()
}

#[tokio::test]
async fn a_long_conversation_is_sent_byte_for_byte_and_asks_no_source() {
    let server = LocalServer::start(|_| async { Reply::Text("ok".to_owned()) }).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let mut config = shadow(server.url());
    config.fail_closed = true;
    config.code_sources.push(Source::stream("manual", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        futures::stream::empty::<Result<cupel::ContextItem, std::io::Error>>()
    }));
    let gateway = Running::start(config).await;
    let body = chat("test-900").to_string().replace("{\"role\"", "{ \"role\"");
    let answer = post(&gateway, body.as_bytes(), "a").await;
    // The upstream's own refusal comes through, as without the gateway.
    assert_eq!(answer.status(), 400);
    let passed = answer.headers()["x-cupel-passed"].to_str().unwrap().to_owned();
    assert!(passed.starts_with("shadow"), "{passed}");
    assert_eq!(server.take_arrived()[0].body, body.as_bytes());
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Bytes that follow from a seed.
fn noise(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[tokio::test]
async fn random_requests_leave_with_the_bytes_that_they_came_with() {
    // `CUPEL_SHADOW_REQUESTS=10000` sends more.
    let requests = std::env::var("CUPEL_SHADOW_REQUESTS").ok().and_then(|set| set.parse().ok());
    let server = ok_server().await;
    let gateway = Running::start(shadow(server.url())).await;
    let client = http();
    let mut seed = 7;
    for _ in 0..requests.unwrap_or(300) {
        let mut body = match noise(&mut seed) % 4 {
            0 => chat("test-300").to_string().into_bytes(),
            1 => json!({"model": "nobody-knows", "messages": [{"role": "user", "content": "a"}]})
                .to_string()
                .into_bytes(),
            2 => vec![b'['; (noise(&mut seed) % 500) as usize],
            _ => chat("test-2600").to_string().replace(',', " ,\n").into_bytes(),
        };
        for _ in 0..noise(&mut seed) % 4 {
            let at = noise(&mut seed) as usize % body.len().max(1);
            let byte = (noise(&mut seed) % 256) as u8;
            body.get_mut(at).into_iter().for_each(|slot| *slot = byte);
        }
        let request = client.post(gateway.url("/v1/chat/completions"));
        let request = request.header("content-type", "application/json").body(body.clone());
        drop(request.send().await.unwrap());
        let arrived = server.take_arrived();
        assert_eq!(arrived.len(), 1);
        assert_eq!(arrived[0].body, body);
    }
}

#[tokio::test]
async fn a_share_of_the_conversations_is_fitted_and_each_stays_on_its_side() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.rollout.fit = 0.5;
    config.rollout.salt = "salt".to_owned();
    let rollout = config.rollout.clone();
    let body = chat("test-900").to_string();
    for process in 0..2 {
        let gateway = Running::start(config.clone()).await;
        let mut sides = [0, 0];
        for number in 0..10 {
            let name = format!("conversation-{number}");
            let answer = post(&gateway, body.as_bytes(), &name).await;
            let is_fitted = answer.headers().contains_key("x-cupel-tokens");
            assert_eq!(is_fitted, rollout.fits(&name), "{process}: {name}");
            sides[usize::from(is_fitted)] += 1;
        }
        assert!(sides.iter().all(|calls| *calls > 0), "{sides:?}");
    }
}
