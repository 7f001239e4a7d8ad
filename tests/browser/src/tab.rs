//! One page, and what a person does with it.

use serde_json::{Value, json};

use super::Error;
use super::wire::{Wire, is};

/// A page that is open. It is closed when it is dropped.
#[derive(Debug)]
pub struct Tab<'b> {
    wire: &'b mut Wire,
    session: String,
    target: String,
}

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character, as it is typed.
    Char(char),
    /// A key with a name, such as `Enter`, `Tab` or `ArrowDown`, and its code.
    Named(&'static str, u32),
}

impl Key {
    /// Confirms.
    pub const ENTER: Self = Self::Named("Enter", 13);
    /// Goes to the next control.
    pub const TAB: Self = Self::Named("Tab", 9);
    /// Gives up.
    pub const ESCAPE: Self = Self::Named("Escape", 27);
    /// One down.
    pub const DOWN: Self = Self::Named("ArrowDown", 40);
    /// One up.
    pub const UP: Self = Self::Named("ArrowUp", 38);
    /// One to the right.
    pub const RIGHT: Self = Self::Named("ArrowRight", 39);
}

impl<'b> Tab<'b> {
    pub(super) fn new(wire: &'b mut Wire) -> Result<Self, Error> {
        let target = wire.call(None, "Target.createTarget", &json!({"url": "about:blank"}))?;
        let target = text(&target, "targetId")?;
        let attached = json!({"targetId": target, "flatten": true});
        let attached = wire.call(None, "Target.attachToTarget", &attached)?;
        let session = text(&attached, "sessionId")?;
        let mut tab = Self { wire, session, target };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(tab)
    }

    /// Sends a command of the debugging protocol.
    ///
    /// # Errors
    ///
    /// What the browser says against it.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        self.wire.call(Some(&self.session), method, params)
    }

    pub(super) fn go(&mut self, address: &str) -> Result<(), Error> {
        let went = self.call("Page.navigate", &json!({"url": address}))?;
        if let Some(error) = went.get("errorText").and_then(Value::as_str) {
            return Err(format!("{address}: {error}").into());
        }
        let session = self.session.clone();
        self.wire.wait_for(&session, "Page.loadEventFired")
    }

    /// Runs a script and waits for what it promises.
    ///
    /// # Errors
    ///
    /// What the script throws.
    pub fn eval(&mut self, script: &str) -> Result<Value, Error> {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let mut answer = self.call("Runtime.evaluate", &params)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            return Err(format!("{script}: {thrown}").into());
        }
        Ok(answer.pointer_mut("/result/value").map(Value::take).unwrap_or_default())
    }

    /// Waits until a selector finds an element: browsers do some things a moment later.
    ///
    /// # Errors
    ///
    /// When there is none in ten seconds.
    pub fn wait_for(&mut self, selector: &str) -> Result<(), Error> {
        let quoted = Value::from(selector);
        let found = self.eval(&format!(
            "(async () => {{ for (let tries = 0; tries < 500; tries += 1) {{ \
             if (document.querySelector({quoted})) return true; \
             await new Promise((done) => setTimeout(done, 20)); }} return false; }})()"
        ))?;
        if found == true { Ok(()) } else { Err(format!("nothing is {selector}").into()) }
    }

    /// The text of the first element that a selector finds, with its white space collapsed.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn text(&mut self, selector: &str) -> Result<String, Error> {
        self.wait_for(selector)?;
        let selector = Value::from(selector);
        let text = self.eval(&format!("document.querySelector({selector}).innerText"))?;
        let words: Vec<&str> = text.as_str().unwrap_or_default().split_whitespace().collect();
        Ok(words.join(" "))
    }

    /// Counts the elements that a selector finds.
    ///
    /// # Errors
    ///
    /// When the selector is wrong.
    pub fn count(&mut self, selector: &str) -> Result<u64, Error> {
        let selector = Value::from(selector);
        let count = self.eval(&format!("document.querySelectorAll({selector}).length"))?;
        Ok(count.as_u64().unwrap_or_default())
    }

    /// Clicks on the middle of the first element that a selector finds.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn click(&mut self, selector: &str) -> Result<(), Error> {
        self.wait_for(selector)?;
        let selector = Value::from(selector);
        let place = self.eval(&format!(
            "(() => {{ const element = document.querySelector({selector}); \
             element.scrollIntoView({{block: 'center'}}); \
             const box = element.getBoundingClientRect(); \
             return {{x: box.x + box.width / 2, y: box.y + box.height / 2}}; }})()"
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "button": "left", "clickCount": 1,
                "x": place.get("x"), "y": place.get("y"),
            });
            self.call("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Chooses an option of a select element, by its value.
    ///
    /// # Errors
    ///
    /// When there is no such element.
    pub fn choose(&mut self, selector: &str, value: &str) -> Result<(), Error> {
        let (selector, value) = (Value::from(selector), Value::from(value));
        self.eval(&format!(
            "{{ const element = document.querySelector({selector}); element.value = {value}; \
             element.dispatchEvent(new Event('change', {{bubbles: true}})); }}"
        ))?;
        Ok(())
    }

    /// Presses a key, wherever the focus is.
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn press(&mut self, key: Key) -> Result<(), Error> {
        let (name, code, typed) = match key {
            Key::Char(character) => (character.to_string(), 0, Some(character.to_string())),
            Key::Named("Enter", code) => ("Enter".to_owned(), code, Some("\r".to_owned())),
            Key::Named(name, code) => (name.to_owned(), code, None),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": name, "windowsVirtualKeyCode": code});
            if let (Some(typed), "keyDown", Some(event)) = (&typed, kind, event.as_object_mut()) {
                event.insert("text".to_owned(), typed.as_str().into());
            }
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Types a text, key by key.
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn type_text(&mut self, text: &str) -> Result<(), Error> {
        text.chars().try_for_each(|character| self.press(Key::Char(character)))
    }

    /// Sets the size of the screen.
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), Error> {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        Ok(())
    }

    /// Shows the page as on a dark or light screen, or as printed (`print`).
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn media(&mut self, medium: &str, colours: &str) -> Result<(), Error> {
        let features = json!([{"name": "prefers-color-scheme", "value": colours}]);
        self.call("Emulation.setEmulatedMedia", &json!({"media": medium, "features": features}))?;
        Ok(())
    }

    /// A picture of what is on the screen, as PNG in base64.
    ///
    /// # Errors
    ///
    /// When the browser cannot make one.
    pub fn screenshot(&mut self) -> Result<String, Error> {
        let picture = self.call("Page.captureScreenshot", &json!({"format": "png"}))?;
        text(&picture, "data")
    }

    /// The page as a printer would get it, as PDF in base64.
    ///
    /// # Errors
    ///
    /// When the browser cannot make one.
    pub fn print(&mut self) -> Result<String, Error> {
        let printed = self.call("Page.printToPDF", &json!({"printBackground": true}))?;
        text(&printed, "data")
    }

    /// Complaints of the page: exceptions, errors and warnings of the console, and violations of
    /// its content security policy.
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn errors(&mut self) -> Result<Vec<String>, Error> {
        // Everything that has happened has been heard once this is answered.
        self.eval("0")?;
        let events = self.wire.events.iter();
        let mut errors = Vec::new();
        for event in events {
            let level =
                |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let wrong = is(event, &self.session, "Runtime.exceptionThrown")
                || is(event, &self.session, "Log.entryAdded")
                    && ["error", "warning"].contains(&level("/params/entry/level"))
                || is(event, &self.session, "Runtime.consoleAPICalled")
                    && ["error", "warning", "assert"].contains(&level("/params/type"));
            if wrong {
                errors.push(event.to_string());
            }
        }
        Ok(errors)
    }

    /// The addresses that the page asked for, its own among them.
    ///
    /// # Errors
    ///
    /// When the browser does not answer.
    pub fn requests(&mut self) -> Result<Vec<String>, Error> {
        self.eval("0")?;
        let asked = |event: &&Value| is(event, &self.session, "Network.requestWillBeSent");
        let address = |event: &Value| {
            event.pointer("/params/request/url").and_then(Value::as_str).map(str::to_owned)
        };
        Ok(self.wire.events.iter().filter(asked).filter_map(address).collect())
    }
}

fn text(value: &Value, key: &str) -> Result<String, Error> {
    let text = value.get(key).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("no {key} in {value}").into())
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let target = json!({"targetId": self.target});
        // The browser may have ended.
        let _ = self.wire.call(None, "Target.closeTarget", &target);
        let session = self.session.as_str();
        self.wire.events.retain(|event| {
            event.get("sessionId").and_then(Value::as_str).is_some_and(|other| other != session)
        });
    }
}
