"""A spec file to runs, runs to results, results to tables and figures."""
