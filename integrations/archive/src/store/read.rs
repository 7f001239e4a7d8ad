//! Reads conversations.

use super::{Row, Store};
use crate::error::Result;
use crate::message::StoredMessage;
use crate::page::{From, Page};

const READ: &str = "read";

impl Store {
    pub(crate) async fn page(
        &self,
        namespace: &str,
        conversation: &str,
        page: Page,
    ) -> Result<Vec<StoredMessage>> {
        let (sql, number) = match page.from {
            From::After(number) => (self.dialect.page_after, number),
            From::Before(number) => (self.dialect.page_before, number),
        };
        let limit = i64::from(page.limit);
        let mut connection = self.connection(READ).await?;
        let rows = connection.rows(sql, &[&namespace, &conversation, &number, &limit]).await?;
        let mut messages = rows.iter().map(Row::stored).collect::<Result<Vec<_>, _>>()?;
        if let From::Before(_) = page.from {
            messages.reverse();
        }
        Ok(messages)
    }

    pub(crate) async fn conversations(
        &self,
        namespace: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>> {
        const NAMES: &str =
            "SELECT name FROM cupel_conversations WHERE namespace = $1 AND name > $2
                             ORDER BY name LIMIT $3";
        let mut connection = self.connection(READ).await?;
        let rows = connection.rows(NAMES, &[&namespace, &after, &i64::from(limit)]).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    pub(crate) async fn original(&self, namespace: &str, digest: &[u8]) -> Result<Option<Vec<u8>>> {
        const FIND: &str = "find an original";
        let mut connection = self.connection(FIND).await?;
        let found = connection.row(self.dialect.original, &[&digest, &namespace]).await?;
        found.map(|row| row.get(0)).transpose()
    }
}
