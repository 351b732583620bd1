"""Why two requests part."""
