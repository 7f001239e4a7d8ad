//! The page in a real browser, with and without its token.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

#[path = "gateway/support.rs"]
#[allow(dead_code)]
mod support;

use cupel_browser::{Browser, Tab};
use cupel_gateway::Secret;
use serde_json::json;
use support::{Running, chat, config, http, ok_server};

async fn call(gateway: &Running, model: &str, content: &str) {
    let mut body = chat(model);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": content}));
    let sent = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("x-cupel-conversation", "one")
        .body(body.to_string());
    // The server knows only models of its own, and the page shows what it says.
    let expected = if model == "test-900" { 200 } else { 400 };
    assert_eq!(sent.send().await.unwrap().status(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_with_the_token_watches_calls_and_somebody_without_sees_none() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.page.token = Some(Secret::new("the-token"));
    let gateway = Running::start(config).await;
    let hostile = "<script>document.title = 'taken over'</script>";
    call(&gateway, &format!("{hostile}<img src=x onerror=\"document.title='taken over'\">"), "a")
        .await;
    call(&gateway, "test-900", hostile).await;
    let (page, list) = (gateway.url("/cupel/"), gateway.url("/cupel/"));
    let watched = tokio::task::spawn_blocking(move || {
        let Some(mut browser) = cupel_browser::for_tests().unwrap() else { return };
        log_in(&mut browser, &page);
        look_around(&mut browser, &list);
    });
    watched.await.unwrap();
}

fn log_in(browser: &mut Browser, page: &str) {
    let mut tab = browser.open(page).unwrap();
    wait_for(&mut tab, "input[name=token]");
    assert_eq!(tab.count("#calls").unwrap(), 0, "the list shows without the token");
    tab.click("input[name=token]").unwrap();
    tab.type_text("wrong").unwrap();
    tab.click("button").unwrap();
    wait_for(&mut tab, ".bad");
    tab.click("input[name=token]").unwrap();
    tab.type_text("the-token").unwrap();
    tab.click("button").unwrap();
    // Live: the row comes without being asked for.
    wait_for(&mut tab, "#calls tr");
    assert_eq!(tab.eval("location.search").unwrap(), "", "the token is in no address");
    assert_eq!(tab.eval("document.cookie").unwrap(), "", "a script sees the cookie");
}

fn look_around(browser: &mut Browser, list: &str) {
    let mut tab = browser.open(list).unwrap();
    wait_for(&mut tab, "#calls tr");
    assert_eq!(tab.text("#state").unwrap(), "live");
    assert!(tab.text("#calls tr").unwrap().contains("fitted"));
    assert_eq!(tab.count("#calls tr").unwrap(), 2);
    assert!(tab.text("#calls tr.passed").unwrap().contains("unknown_model"));
    assert_eq!((tab.count("#calls meter").unwrap(), tab.count("#calls img").unwrap()), (1, 0));
    assert_eq!(tab.eval("document.title").unwrap(), "Cupel gateway: recent calls");
    check_words(&mut tab);
    assert_eq!(tab.errors().unwrap(), [""; 0]);
    tab.click("#calls a").unwrap();
    wait_for(&mut tab, "#h-window");
    assert_ne!(tab.eval("document.title").unwrap(), "taken over");
    assert_eq!(tab.text(".home").unwrap(), "all calls");
    assert_eq!(tab.errors().unwrap(), [""; 0]);
}

/// Checks that columns and totals have names people know, and that numbers are real.
fn check_words(tab: &mut Tab<'_>) {
    let columns = tab.text("thead").unwrap();
    for column in ["status", "tokens sent", "dropped", "cached", "duration"] {
        assert!(columns.contains(column), "{column}: {columns}");
    }
    let cell = "document.querySelector('#calls tr td:nth-child(6)').textContent";
    let duration = tab.eval(cell).unwrap();
    let duration = duration.as_str().unwrap();
    let (number, unit) = duration.split_once(' ').unwrap();
    assert!(number.parse::<f64>().unwrap() > 0.0 && ["ms", "s"].contains(&unit), "{duration}");
    assert!(tab.text("#calls tr").unwrap().contains("200"), "the status of the answer");
    let totals = tab.text("#totals").unwrap();
    let saved = |than: &str| {
        let (_, rest) = totals.split_once(&format!("saved against {than}")).expect(&totals);
        rest.trim_start().split_once(" %").expect(&totals).0.parse::<i64>().expect(&totals)
    };
    assert!((1..100).contains(&saved("sending everything")), "{totals}");
    assert!(saved("newest-first trimming") < 100, "{totals}");
    assert!(totals.contains("repeats after a cut") && totals.contains("repeats without a cut"));
}

/// Waits for an element, also of the page that a click leads to.
fn wait_for(tab: &mut Tab<'_>, selector: &str) {
    let mut waited = tab.wait_for(selector);
    for _ in 0..20 {
        match &waited {
            Err(error) if error.to_string().contains("navigated") => {
                waited = tab.wait_for(selector);
            }
            _ => break,
        }
    }
    waited.unwrap();
}
