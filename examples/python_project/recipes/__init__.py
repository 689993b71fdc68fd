"""Recipes and their amounts."""
