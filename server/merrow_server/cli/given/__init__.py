"""What people give commands, and how Merrow helps them to: words a shell completes, inputs asked for, runs not named."""
