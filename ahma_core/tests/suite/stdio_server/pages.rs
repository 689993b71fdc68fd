//! Lists that are longer than a page, as a client reads them.

use std::collections::BTreeSet;

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::scripted::legacy;
use super::{modern, unspoken_to};

/// Elements of a page.
const PAGE: usize = 500;
/// More than a page, and less than two.
const MANY: usize = 620;
/// Method, key and identity of the elements of each list.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

fn names(of: &str) -> impl Iterator<Item = String> {
    (0..MANY).map(move |number| format!("{of}{number:04}"))
}

/// A project with so many tools, prompts and resources.
fn long() -> Workspace {
    let project = Workspace::new();
    let tools: Vec<String> = names("t").collect();
    for (number, names) in tools.chunks(MANY / 2).enumerate() {
        let tools = names
            .iter()
            .map(|name| json!({ "name": name, "description": "T." }));
        let tools: Vec<Value> = tools.collect();
        let name = format!("half{number}");
        let file =
            json!({ "name": name, "command": "true", "description": "H.", "subcommand": tools });
        project.write(&format!(".ahma/tools/{name}.json"), file.to_string());
    }
    for name in names("p") {
        let prompt = json!({ "name": name, "description": "P.", "messages": [{ "text": "x" }] });
        project.write(&format!(".ahma/prompts/{name}.json"), prompt.to_string());
    }
    for name in names("r") {
        let resource = json!({ "uri": format!("docs://{name}"), "name": "one", "text": "x" });
        project.write(
            &format!(".ahma/resources/{name}.json"),
            resource.to_string(),
        );
    }
    project
}

/// A project with so many families of resources.
fn with_families() -> Workspace {
    let project = Workspace::new();
    for name in names("f") {
        let template = format!("docs://{name}/{{page}}");
        let family = json!({ "uri_template": template, "name": "family", "file": "{page}" });
        project.write(&format!(".ahma/resources/{name}.json"), family.to_string());
    }
    project
}

/// A client in one of the lifecycles.
struct Lister {
    client: McpProcess,
    is_modern: bool,
}

impl Lister {
    fn request(&mut self, method: &str, params: Value) -> Value {
        let params = if self.is_modern {
            modern(params)
        } else {
            params
        };
        self.client.request(method, &params)
    }

    /// The pages of a list, one after the other, each as the names of its elements.
    fn pages(&mut self, (method, key, identity): (&str, &str, &str)) -> Vec<Vec<String>> {
        let (mut pages, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.request(method, params);
            let listed = answer["result"][key].as_array();
            let listed = listed.unwrap_or_else(|| panic!("{method}: {answer}"));
            let names = listed
                .iter()
                .map(|it| it[identity].as_str().unwrap().to_owned());
            pages.push(names.collect());
            let Some(next) = answer["result"]["nextCursor"].as_str() else {
                return pages;
            };
            params = json!({ "cursor": next });
        }
    }
}

/// Clients of this project, one in each lifecycle.
fn listers(project: &Workspace) -> [Lister; 2] {
    let session = Lister {
        client: legacy(project, &json!({})),
        is_modern: false,
    };
    let stateless = Lister {
        client: unspoken_to(project),
        is_modern: true,
    };
    [session, stateless]
}

/// Proves: P27.
#[test]
fn following_the_cursors_gives_every_element_once_in_both_lifecycles() {
    let (long, families) = (long(), with_families());
    let halves = names("half0_t")
        .take(MANY / 2)
        .chain(names("half1_t").skip(MANY / 2));
    let families_of = names("docs://f").map(|it| it + "/{page}");
    let wanted: [BTreeSet<String>; 4] = [
        halves.collect(),
        names("p").collect(),
        names("docs://r").collect(),
        families_of.collect(),
    ];
    for (mut long, mut families) in listers(&long).into_iter().zip(listers(&families)) {
        for (list, wanted) in LISTS.into_iter().zip(&wanted) {
            let lister = if list.1 == "resourceTemplates" {
                &mut families
            } else {
                &mut long
            };
            let pages = lister.pages(list);
            assert_eq!(pages.len(), 2, "{}", list.0);
            assert_eq!(pages[0].len(), PAGE, "{}", list.0);
            let all = pages.concat();
            let once: BTreeSet<&String> = all.iter().collect();
            assert_eq!(once.len(), all.len(), "{}", list.0);
            let declared = all.iter().filter(|it| wanted.contains(*it));
            assert_eq!(declared.count(), MANY, "{}", list.0);
        }
    }
}

/// Proves: P27.
#[test]
fn a_cursor_that_is_none_of_a_list_is_refused_in_both_lifecycles() {
    let project = long();
    for mut lister in listers(&project) {
        let first = lister.request("tools/list", json!({}));
        let of_tools = &first["result"]["nextCursor"];
        assert!(of_tools.is_string(), "{:.200}", first.to_string());
        for (method, key, _) in LISTS {
            let wrong = ["rubbish!", "", "e30"].map(|it| json!(it));
            let foreign = (key != "tools").then(|| of_tools.clone());
            for cursor in wrong.into_iter().chain(foreign) {
                let refused = lister.request(method, json!({ "cursor": cursor }));
                assert_eq!(
                    refused["error"]["code"], -32602,
                    "{method} {cursor}: {refused:.300}"
                );
            }
        }
    }
}
