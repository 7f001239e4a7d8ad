//! Messages that have no vectors yet.

use super::Store;
use crate::error::Result;

const READ: &str = "read what has no vectors";

/// The first messages of a conversation that have no vectors.
#[derive(Debug)]
pub(crate) struct Unembedded {
    pub(crate) conversation: i64,
    /// Id of the model, if it has vectors.
    pub(crate) model: Option<i64>,
    /// Up to this number all messages had vectors, and after these they have.
    pub(crate) after: i64,
    pub(crate) upto: i64,
    pub(crate) messages: Vec<UnembeddedMessage>,
    /// True if there are others behind them.
    pub(crate) more: bool,
}

/// A message without vectors.
#[derive(Debug)]
pub(crate) struct UnembeddedMessage {
    pub(crate) number: i64,
    /// The text, or its beginning.
    pub(crate) text: String,
}

impl Store {
    /// The first `limit` messages of a conversation without vectors of a model, each up to so many
    /// bytes; none where all have them.
    pub(crate) async fn unembedded(
        &self,
        model: &str,
        (namespace, conversation): (&str, &str),
        limit: i64,
        bytes: i64,
    ) -> Result<Option<Unembedded>> {
        let model = self.model(model).await?.map(|model| model.id);
        const LOOK: &str = "SELECT c.id, c.next, coalesce((SELECT e.upto FROM cupel_embedded e
                                WHERE e.conversation = c.id AND e.model = $3), 0)
                            FROM cupel_conversations c WHERE c.namespace = $1 AND c.name = $2";
        let mut connection = self.connection(READ).await?;
        let look = connection.row(LOOK, &[&namespace, &conversation, &model]).await?;
        let Some(look) = look else { return Ok(None) };
        let (id, next, after): (i64, i64, i64) = (look.get(0)?, look.get(1)?, look.get(2)?);
        if next - 1 <= after {
            return Ok(None);
        }
        let unembedded = self.vector_statements().unembedded;
        let rows = connection.rows(unembedded, &[&id, &after, &next, &bytes, &limit]).await?;
        let more = i64::try_from(rows.len()).is_ok_and(|rows| rows >= limit);
        let messages = rows
            .iter()
            .map(|row| Ok(UnembeddedMessage { number: row.get(0)?, text: beginning(row.get(1)?) }));
        let messages: Vec<UnembeddedMessage> = messages.collect::<Result<_>>()?;
        let last = messages.last().map(|message| message.number);
        let upto = last.filter(|_| more).unwrap_or(next - 1);
        Ok(Some(Unembedded { conversation: id, model, after, upto, messages, more }))
    }

    /// Id and names of conversations that have messages without vectors of a model: those after an id.
    pub(crate) async fn conversations_to_embed(
        &self,
        model: &str,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, String, String)>> {
        let model = self.model(model).await?.map(|model| model.id);
        const LOOK: &str = "SELECT c.id, c.namespace, c.name FROM cupel_conversations c
            LEFT JOIN cupel_embedded e ON e.conversation = c.id AND e.model = $1
            WHERE c.id > $2 AND c.next - 1 > coalesce(e.upto, 0) ORDER BY c.id LIMIT $3";
        let mut connection = self.connection(READ).await?;
        let rows = connection.rows(LOOK, &[&model, &after, &limit]).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
    }

    /// Number of messages without vectors of a model, of all tenants.
    pub(crate) async fn waiting(&self, model: &str) -> Result<u64> {
        let model = self.model(model).await?.map(|model| model.id);
        let mut connection = self.connection(READ).await?;
        let count = connection.one(self.vector_statements().waiting, &[&model]).await?;
        Ok(u64::try_from(count.get::<i64>(0)?).unwrap_or_default())
    }
}

/// The text of some bytes, without a character that was cut through at the end.
fn beginning(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            String::from_utf8_lossy(valid).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_was_cut_through_is_left_out() {
        assert_eq!(beginning("größe".as_bytes()), "größe");
        assert_eq!(beginning(&"größe".as_bytes()[..5]), "grö");
        assert_eq!(beginning(&"größe".as_bytes()[..3]), "gr");
    }
}
