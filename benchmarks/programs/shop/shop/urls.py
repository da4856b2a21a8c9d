"""Addresses of the pages."""

from django.urls import path

from shop import views

urlpatterns = [
    path("customers/", views.customers),
    path("customers/<int:number>/", views.customer),
    path("revenue/", views.revenue),
]
