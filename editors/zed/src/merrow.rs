//! Starts the language server that is on the user's PATH.

use zed_extension_api as zed;

struct Merrow;

impl zed::Extension for Merrow {
    fn new() -> Self {
        Merrow
    }

    fn language_server_command(
        &mut self,
        _server: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let command = worktree
            .which("merrow")
            .ok_or_else(|| "There is no merrow on the PATH; install it first.".to_string())?;
        Ok(zed::Command {
            command,
            args: vec!["serve".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Merrow);
