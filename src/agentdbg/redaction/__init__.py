"""Redaction: the one gate through which every byte to be written passes."""
