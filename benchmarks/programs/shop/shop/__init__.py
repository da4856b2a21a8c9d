"""Shop with customers and orders: a small Django project."""
