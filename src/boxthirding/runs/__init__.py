"""Programs that score an arm (`runs.programs`), and policies replayed over scores that are known (`runs.replay`)."""
