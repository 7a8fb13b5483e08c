"""The demo agent (a refund desk), a stand-in for its model, and the script that records the shipped runs."""
