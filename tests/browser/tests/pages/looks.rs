//! Light and dark, narrow and printed.

use cupel_browser::Tab;

use crate::data::{explain, items};
use crate::{assert_quiet, browser, open};

fn page() -> String {
    let all = items(300);
    let (before, now) = (explain(&all[..290], 6_000), explain(&all, 6_000));
    now.page().previous(&before).to_string()
}

fn background(tab: &mut Tab<'_>) -> String {
    let colour = tab.eval("getComputedStyle(document.body).backgroundColor").unwrap();
    colour.as_str().unwrap().to_owned()
}

/// Contrast of text and background, by the measure of the accessibility guidelines.
const CONTRAST: &str = "(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const card = light(getComputedStyle(document.querySelector('section')).backgroundColor);
  const worst = ['h2', '.status', '.text', '.out .reason', '.in .reason', '.pos', '.sorts button', '.sub', '.times th'].map((selector) => {
    const element = document.querySelector(selector);
    const own = light(getComputedStyle(element).color);
    return [(Math.max(own, card) + 0.05) / (Math.min(own, card) + 0.05), selector];
  });
  return worst.sort((a, b) => a[0] - b[0])[0];
})()";

#[test]
fn light_and_dark_can_both_be_read() {
    let mut browser = browser!();
    let mut tab = open(&mut browser, &page());
    let mut backgrounds = Vec::new();
    tab.eval("document.querySelector('input[name=in][value=out]').click()").unwrap();
    for colours in ["light", "dark"] {
        tab.media("screen", colours).unwrap();
        backgrounds.push(background(&mut tab));
        // One of each is on the screen.
        tab.eval("document.querySelector('#rows li').classList.add('in')").unwrap();
        let worst = tab.eval(CONTRAST).unwrap();
        assert!(worst[0].as_f64().unwrap() >= 4.5, "{colours}: {worst}");
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    assert_quiet(&mut tab);
}

/// Elements that stick out of the screen.
const OUTSIDE: &str = "[...document.querySelectorAll('body *')].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width > 0 && !element.closest('pre') && !element.classList.contains('skip') && (box.right > WIDTH + 1 || box.left < -1);
}).map((element) => element.outerHTML.slice(0, 120))";

#[test]
fn a_telephone_is_wide_enough() {
    let mut browser = browser!();
    let mut tab = open(&mut browser, &page());
    for width in [360, 320, 768] {
        tab.resize(width, 740).unwrap();
        tab.eval("document.querySelectorAll('#rows details').forEach((row, at) => { row.open = at < 3; }); new Promise((done) => setTimeout(done, 50))").unwrap();
        let wide = tab.eval("document.documentElement.scrollWidth").unwrap();
        let outside = tab.eval(&OUTSIDE.replace("WIDTH", &width.to_string())).unwrap();
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} at {width}: {outside}");
        assert_eq!(outside.as_array().unwrap().len(), 0, "at {width}: {outside}");
    }
    // Large enough for a finger, or for a tremor.
    tab.resize(360, 740).unwrap();
    let small = tab.eval("[...document.querySelectorAll('.btn, select, input[type=search], summary, .seg label')].filter((e) => e.offsetHeight > 0 && e.offsetHeight < 24).map((e) => e.outerHTML.slice(0, 80))");
    assert_eq!(small.unwrap().as_array().unwrap().len(), 0);
    tab.click("#search").unwrap();
    tab.type_text("refund").unwrap();
    assert!(tab.text("#status").unwrap().contains(" of 300 items"));
    assert_quiet(&mut tab);
}

#[test]
fn print_leaves_the_controls_out_and_has_all_rows() {
    let mut browser = browser!();
    let mut tab = open(&mut browser, &page());
    let pdf = tab.print().unwrap();
    assert!(pdf.len() > 50_000, "{} bytes", pdf.len());
    assert_eq!(tab.count("#rows > li").unwrap(), 300);
    tab.media("print", "light").unwrap();
    let hidden = tab.eval("['.tools', '.sorts', '.more', 'footer'].filter((s) => getComputedStyle(document.querySelector(s)).display !== 'none')");
    assert_eq!(hidden.unwrap().as_array().unwrap().len(), 0);
    // On a dark screen as well, paper is white.
    tab.media("print", "dark").unwrap();
    assert_eq!(background(&mut tab), "rgb(255, 255, 255)");
    assert_quiet(&mut tab);
}
