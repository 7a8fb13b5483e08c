"""The terminal screens. The only room that knows Textual."""
