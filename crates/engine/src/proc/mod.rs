//! System procedures: what RPCs by ProcID and `EXEC sp_..` run.
