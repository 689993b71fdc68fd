//! Resources of files, and outputs of operations, as clients read them.

use rmcp::ErrorData;
use rmcp::model::ReadResourceResult;

use super::operation_output;
use super::project_file::{self, FileFault};
use super::prompts::contents;
use crate::config::content::{BodySpec, ResourceSpec, Template};
use crate::service::context::ServiceContext;
use crate::service::output_uri;

/// What a resource is made of, with the values of its URI filled in.
pub(super) enum Body {
    /// The text itself.
    Text(String),
    /// A file below the scope.
    File(String),
}

/// Whether we have such a resource.
pub(crate) fn is_known(context: &ServiceContext, uri: &str) -> bool {
    let of_operation = output_uri::part(uri);
    let operation = of_operation.and_then(|it| context.operations().get(&it.id));
    operation.is_some() || context.registry.content().borrow().resource(uri).is_some()
}

/// Reads one; none where we have no such resource.
pub(crate) async fn read(
    context: &ServiceContext,
    uri: &str,
) -> Result<Option<ReadResourceResult>, ErrorData> {
    if let Some(part) = output_uri::part(uri) {
        return operation_output::read(context, part, uri).await;
    }
    let found = {
        let content = context.registry.content();
        let content = content.borrow();
        content.resource(uri).map(|(spec, values)| {
            let body = body(spec, &values);
            (body, spec.mime_type.clone())
        })
    };
    let Some((body, given)) = found else {
        return Ok(None);
    };
    let (bytes, mime_type) = match body {
        Body::Text(text) => (
            text.into_bytes(),
            given.unwrap_or_else(|| "text/plain".to_owned()),
        ),
        Body::File(path) => {
            let bytes = match project_file::read(context, &path).await {
                Ok(bytes) => bytes,
                Err(FileFault::Missing(why)) => {
                    let uri = serde_json::json!({ "uri": uri });
                    return Err(ErrorData::resource_not_found(why, Some(uri)));
                }
                Err(FileFault::Unreadable(why)) => {
                    return Err(ErrorData::invalid_params(why, None));
                }
            };
            let mime_type = given.unwrap_or_else(|| project_file::type_of(&path, &bytes));
            (bytes, mime_type)
        }
    };
    let contents = contents(bytes, uri.to_owned(), mime_type).await?;
    Ok(Some(ReadResourceResult::new(vec![contents])))
}

/// What a resource is made of.
pub(super) fn body(spec: &ResourceSpec, values: &[(String, String)]) -> Body {
    let value = |name: &str| {
        let mut all = values.iter();
        all.find(|(it, _)| it == name)
            .map(|(_, value)| value.as_str())
    };
    let fill = |template: &Template| template.filled(value);
    match &spec.body {
        BodySpec::Text(text) => Body::Text(fill(text)),
        BodySpec::File(file) => Body::File(fill(file)),
    }
}
