"""Pages of the shop."""

from django.db.models import Count, F, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template import engines

from shop.models import Customer, Order

PAGE = """<h1>Customers</h1><ul>
{% for customer in customers %}<li class="{% cycle 'odd' 'even' %}">
{{ customer.name|title }}: {{ customer.orders__count }}
order{{ customer.orders__count|pluralize }}</li>{% empty %}none{% endfor %}</ul>"""


def customers(_request: HttpRequest) -> HttpResponse:
    """Return a page with all customers."""
    rows = Customer.objects.annotate(Count("orders")).order_by("name")
    template = engines["django"].from_string(PAGE)
    return HttpResponse(template.render({"customers": rows}))


def customer(_request: HttpRequest, number: int) -> JsonResponse:
    """Return a customer with the sum of the orders."""
    found = get_object_or_404(Customer, pk=number)
    return JsonResponse({"name": found.name, "spent": found.spent()})


def revenue(_request: HttpRequest) -> JsonResponse:
    """Return the revenue, which the database sums."""
    amount = Sum(F("price") * F("count"))
    return JsonResponse(Order.objects.aggregate(revenue=amount))
