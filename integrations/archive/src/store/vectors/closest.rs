//! Compares a question's vector with those of a conversation, or of all of a namespace.

use cupel::relevance::cosine;

use super::{Row, Store, VectorModel};
use crate::error::Result;
use crate::meaning::{Closeness, from_bytes};
use crate::search::{MessagePlace, Search};
use crate::store::backend::Arguments;

const COMPARE: &str = "compare vectors";

impl Store {
    /// Cosines of the messages of a conversation, or of a namespace, with a question's vector. Compares
    /// at most `most` vectors of a namespace.
    pub(crate) async fn closeness(
        &self,
        (namespace, conversation): (&str, Option<&str>),
        model: VectorModel,
        question: &[f32],
        search: &Search,
        most: u64,
    ) -> Result<Closeness> {
        if self.pgvector.is_used() {
            let names = (namespace, conversation);
            return self.closeness_on_server(names, model.id, question, search).await;
        }
        let mut closeness = Closeness::default();
        let (statements, most) =
            (self.vector_statements(), i64::try_from(most).unwrap_or(i64::MAX));
        let before = search.before.unwrap_or(i64::MAX);
        let except = search.except.as_deref();
        let (sql, arguments): (_, Arguments<'_>) = match &conversation {
            Some(name) => (statements.of_conversation, &[&namespace, &model.id, name, &before]),
            None => (statements.of_namespace, &[&namespace, &model.id, &except, &most]),
        };
        let mut vector = Vec::with_capacity(question.len());
        let mut connection = self.connection(COMPARE).await?;
        let take = |row: &Row| {
            from_bytes(row.get(2)?, &mut vector);
            // Not a number where somebody has written another length.
            let cosine = cosine(question, &vector);
            if !cosine.is_nan() {
                let place = MessagePlace { conversation: row.get(0)?, number: row.get(1)? };
                closeness.add(place, cosine);
            }
            Ok(())
        };
        connection.each(sql, arguments, take).await?;
        Ok(closeness)
    }
}
