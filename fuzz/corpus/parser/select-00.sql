-- Queries: every clause of SELECT.
SELECT 1
