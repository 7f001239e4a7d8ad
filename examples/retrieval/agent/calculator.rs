//! A calculator: arithmetic with precedence, brackets and signs, and errors that say where.

/// Brackets, signs and powers may nest this deep, so that no input exhausts the stack.
const DEPTH: usize = 64;

/// The value of an expression, or what is wrong with it.
pub(crate) fn evaluate(text: &str) -> Result<f64, String> {
    let mut parser = Parser { text, position: 0, depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None if value.is_finite() => Ok(value),
        None => Err("the result is too large".to_owned()),
        Some(found) => Err(parser.problem(&format!("expected an operator, found {found:?}"))),
    }
}

/// Whole numbers without a point, others with at most six decimals.
pub(crate) fn show(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A recursive descent: `sum`, `product`, `signed`, `power`, `primary`, loosest first.
struct Parser<'a> {
    text: &'a str,
    /// In bytes.
    position: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(operator) = self.take_any(&['+', '-']) {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(operator) = self.take_any(&['*', '/', '%']) {
            let at = self.position;
            let right = self.signed()?;
            if operator != '*' && right == 0.0 {
                self.position = at;
                return Err(self.problem("division by zero"));
            }
            value = match operator {
                '*' => value * right,
                '/' => value / right,
                _ => value % right,
            };
        }
        Ok(value)
    }

    /// A sign binds looser than a power: `-2 ^ 2` is -4.
    fn signed(&mut self) -> Result<f64, String> {
        match self.take_any(&['-', '+']) {
            Some('-') => Ok(-self.deeper(Self::signed)?),
            Some(_) => self.deeper(Self::signed),
            None => self.power(),
        }
    }

    /// To the right first: `2 ^ 3 ^ 2` is 512.
    fn power(&mut self) -> Result<f64, String> {
        let base = self.primary()?;
        match self.take_any(&['^']) {
            Some(_) => {
                let value = base.powf(self.deeper(Self::signed)?);
                if value.is_nan() { Err(self.problem("not a real number")) } else { Ok(value) }
            }
            None => Ok(base),
        }
    }

    fn primary(&mut self) -> Result<f64, String> {
        if self.take_any(&['(']).is_none() {
            return self.number();
        }
        let opened = self.position;
        let value = self.deeper(Self::sum)?;
        match self.take_any(&[')']) {
            Some(_) => Ok(value),
            None => Err(format!("the bracket at column {opened} is never closed")),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let found = self.peek();
        let rest = self.text.get(self.position..).unwrap_or_default();
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest.get(..length).and_then(|digits| digits.parse().ok());
        match (number, found) {
            (Some(number), _) => {
                self.position += length;
                Ok(number)
            }
            (None, Some(found)) => {
                Err(self.problem(&format!("expected a number, found {found:?}")))
            }
            (None, None) => Err("expected a number, found the end".to_owned()),
        }
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Result<f64, String>) -> Result<f64, String> {
        if self.depth == DEPTH {
            return Err(self.problem("nested too deep"));
        }
        self.depth += 1;
        let value = parse(self);
        self.depth -= 1;
        value
    }

    /// Skips white space and looks at the next character.
    fn peek(&mut self) -> Option<char> {
        let rest = self.text.get(self.position..)?;
        self.position += rest.len() - rest.trim_start().len();
        rest.trim_start().chars().next()
    }

    fn take_any(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|next| wanted.contains(next))?;
        self.position += next.len_utf8();
        Some(next)
    }

    /// A message with the column, counted from 1.
    fn problem(&mut self, what: &str) -> String {
        let _ = self.peek();
        let before = self.text.get(..self.position).unwrap_or_default();
        format!("{what} at column {}", before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{evaluate, show};

    fn shown(text: &str) -> String {
        evaluate(text).map_or_else(|error| format!("error: {error}"), show)
    }

    #[test]
    fn operators_bind_as_on_paper() {
        for (text, value) in [
            ("(17 + 25) * 3 - 10 / 4", "123.5"),
            ("2 + 3 * 4 ^ 2", "50"),
            ("10 - 4 - 3", "3"),
            ("2 ^ 3 ^ 2", "512"),
            ("-2 ^ 2", "-4"),
            ("2 * -3", "-6"),
            ("17 % 5", "2"),
            ("1 / 3", "0.333333"),
            ("0 * -1", "0"),
        ] {
            assert_eq!(shown(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, error) in [
            ("100 / (7 - 7)", "division by zero at column 7"),
            ("2 * (3 + 4", "the bracket at column 5 is never closed"),
            ("2 +", "expected a number, found the end"),
            ("2 $ 3", "expected an operator, found '$' at column 3"),
            ("1.2.3", "expected a number, found '1' at column 1"),
            ("(0 - 8) ^ 0.5", "not a real number at column 14"),
            ("10 ^ 400", "the result is too large"),
            (&"(".repeat(1_000), "nested too deep at column 66"),
        ] {
            assert_eq!(shown(text), format!("error: {error}"), "{text}");
        }
    }
}
