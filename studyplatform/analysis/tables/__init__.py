"""The tables of a study, one module for each kind: plain records in, a typed table out. No database, network, clock or global chance."""
