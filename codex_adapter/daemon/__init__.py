"""Many runs behind one pipe: JSON-RPC 2.0 between a supervisor in any language and the daemon (J1 to J14)."""
