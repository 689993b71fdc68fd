# Everyday commands; `just` lists them.

_list:
    @just --list --unsorted

# Serve this checkout over HTTP, confined to it
serve:
    cargo run -- --mode http --sandbox-scope .

# Everything that needs no further programs
test:
    cargo test --workspace

# The same, faster (cargo install --locked cargo-nextest)
test-fast:
    cargo nextest run --workspace

# Format, then lint as CI does
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# What must pass before a change lands; installs programs, as root
ci:
    .ci/run

# The Python and TypeScript SDKs and the inspector against the built server
clients:
    tests/clients/run

# Servers that others have written, behind the built server
upstreams:
    tests/upstreams/run

# Signing in: oidc-provider, Chromium, a keyring
auth:
    tests/auth/run

# Another kernel, in a virtual machine
vm:
    tests/vm/run

# The official conformance suite
conformance:
    tests/conformance/run
    tests/conformance/client_run

# Write the generated documents again
generate:
    cargo run -p ahma_tests --bin traceability
    cargo run -p generate_tool_schema -- --output docs/mtdf.schema.json

# Accept changed messages of the validator; then read the diff
accept-messages:
    INSTA_UPDATE=always cargo test -p ahma_validate

# The MCP inspector in a browser, on a build of this checkout
inspect:
    ./ahma-inspector.sh

# One benchmark: load_tool_files, output, stdio or http
bench name:
    cargo bench -p ahma_core --bench {{name}}

# Hours: fuzzing, floods, other platforms, licences, advisories
soak:
    .ci/soak
