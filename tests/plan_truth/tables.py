"""The 24 tables of TPC-DS: prefix and columns, with the specification's types as Spark's.

From the TPC-DS specification 2.7, chapter 2. A column without a type is an `int`, as all keys and counts are. `$` is
`decimal(7,2)`, the type of most amounts; `#` is `string`, for every `char` and `varchar`.
"""

from collections.abc import Mapping

_TABLES = {
    "call_center": (
        "cc_",
        (
            "call_center_sk call_center_id# rec_start_date:date rec_end_date:date closed_date_sk open_date_sk name# "
            "class# employees sq_ft hours# manager# mkt_id mkt_class# mkt_desc# market_manager# division "
            "division_name# company company_name# street_number# street_name# street_type# suite_number# city# "
            "county# state# zip# country# gmt_offset:decimal(5,2) tax_percentage:decimal(5,2)"
        ),
    ),
    "catalog_page": (
        "cp_",
        (
            "catalog_page_sk catalog_page_id# start_date_sk end_date_sk department# catalog_number "
            "catalog_page_number description# type#"
        ),
    ),
    "catalog_returns": (
        "cr_",
        (
            "returned_date_sk returned_time_sk item_sk refunded_customer_sk refunded_cdemo_sk refunded_hdemo_sk "
            "refunded_addr_sk returning_customer_sk returning_cdemo_sk returning_hdemo_sk returning_addr_sk "
            "call_center_sk catalog_page_sk ship_mode_sk warehouse_sk reason_sk order_number return_quantity "
            "return_amount$ return_tax$ return_amt_inc_tax$ fee$ return_ship_cost$ refunded_cash$ reversed_charge$ "
            "store_credit$ net_loss$"
        ),
    ),
    "catalog_sales": (
        "cs_",
        (
            "sold_date_sk sold_time_sk ship_date_sk bill_customer_sk bill_cdemo_sk bill_hdemo_sk bill_addr_sk "
            "ship_customer_sk ship_cdemo_sk ship_hdemo_sk ship_addr_sk call_center_sk catalog_page_sk ship_mode_sk "
            "warehouse_sk item_sk promo_sk order_number quantity wholesale_cost$ list_price$ sales_price$ "
            "ext_discount_amt$ ext_sales_price$ ext_wholesale_cost$ ext_list_price$ ext_tax$ coupon_amt$ "
            "ext_ship_cost$ net_paid$ net_paid_inc_tax$ net_paid_inc_ship$ net_paid_inc_ship_tax$ net_profit$"
        ),
    ),
    "customer": (
        "c_",
        (
            "customer_sk customer_id# current_cdemo_sk current_hdemo_sk current_addr_sk first_shipto_date_sk "
            "first_sales_date_sk salutation# first_name# last_name# preferred_cust_flag# birth_day birth_month "
            "birth_year birth_country# login# email_address# last_review_date"
        ),
    ),
    "customer_address": (
        "ca_",
        (
            "address_sk address_id# street_number# street_name# street_type# suite_number# city# county# state# zip# "
            "country# gmt_offset:decimal(5,2) location_type#"
        ),
    ),
    "customer_demographics": (
        "cd_",
        (
            "demo_sk gender# marital_status# education_status# purchase_estimate credit_rating# dep_count "
            "dep_employed_count dep_college_count"
        ),
    ),
    "date_dim": (
        "d_",
        (
            "date_sk date_id# date:date month_seq week_seq quarter_seq year dow moy dom qoy fy_year fy_quarter_seq "
            "fy_week_seq day_name# quarter_name# holiday# weekend# following_holiday# first_dom last_dom same_day_ly "
            "same_day_lq current_day# current_week# current_month# current_quarter# current_year#"
        ),
    ),
    "household_demographics": (
        "hd_",
        "demo_sk income_band_sk buy_potential# dep_count vehicle_count",
    ),
    "income_band": (
        "ib_",
        "income_band_sk lower_bound upper_bound",
    ),
    "inventory": (
        "inv_",
        "date_sk item_sk warehouse_sk quantity_on_hand",
    ),
    "item": (
        "i_",
        (
            "item_sk item_id# rec_start_date:date rec_end_date:date item_desc# current_price$ wholesale_cost$ "
            "brand_id brand# class_id class# category_id category# manufact_id manufact# size# formulation# color# "
            "units# container# manager_id product_name#"
        ),
    ),
    "promotion": (
        "p_",
        (
            "promo_sk promo_id# start_date_sk end_date_sk item_sk cost:decimal(15,2) response_target promo_name# "
            "channel_dmail# channel_email# channel_catalog# channel_tv# channel_radio# channel_press# channel_event# "
            "channel_demo# channel_details# purpose# discount_active#"
        ),
    ),
    "reason": (
        "r_",
        "reason_sk reason_id# reason_desc#",
    ),
    "ship_mode": (
        "sm_",
        "ship_mode_sk ship_mode_id# type# code# carrier# contract#",
    ),
    "store": (
        "s_",
        (
            "store_sk store_id# rec_start_date:date rec_end_date:date closed_date_sk store_name# number_employees "
            "floor_space hours# manager# market_id geography_class# market_desc# market_manager# division_id "
            "division_name# company_id company_name# street_number# street_name# street_type# suite_number# city# "
            "county# state# zip# country# gmt_offset:decimal(5,2) tax_percentage:decimal(5,2)"
        ),
    ),
    "store_returns": (
        "sr_",
        (
            "returned_date_sk return_time_sk item_sk customer_sk cdemo_sk hdemo_sk addr_sk store_sk reason_sk "
            "ticket_number return_quantity return_amt$ return_tax$ return_amt_inc_tax$ fee$ return_ship_cost$ "
            "refunded_cash$ reversed_charge$ store_credit$ net_loss$"
        ),
    ),
    "store_sales": (
        "ss_",
        (
            "sold_date_sk sold_time_sk item_sk customer_sk cdemo_sk hdemo_sk addr_sk store_sk promo_sk ticket_number "
            "quantity wholesale_cost$ list_price$ sales_price$ ext_discount_amt$ ext_sales_price$ ext_wholesale_cost$ "
            "ext_list_price$ ext_tax$ coupon_amt$ net_paid$ net_paid_inc_tax$ net_profit$"
        ),
    ),
    "time_dim": (
        "t_",
        "time_sk time_id# time hour minute second am_pm# shift# sub_shift# meal_time#",
    ),
    "warehouse": (
        "w_",
        (
            "warehouse_sk warehouse_id# warehouse_name# warehouse_sq_ft street_number# street_name# street_type# "
            "suite_number# city# county# state# zip# country# gmt_offset:decimal(5,2)"
        ),
    ),
    "web_page": (
        "wp_",
        (
            "web_page_sk web_page_id# rec_start_date:date rec_end_date:date creation_date_sk access_date_sk "
            "autogen_flag# customer_sk url# type# char_count link_count image_count max_ad_count"
        ),
    ),
    "web_returns": (
        "wr_",
        (
            "returned_date_sk returned_time_sk item_sk refunded_customer_sk refunded_cdemo_sk refunded_hdemo_sk "
            "refunded_addr_sk returning_customer_sk returning_cdemo_sk returning_hdemo_sk returning_addr_sk "
            "web_page_sk reason_sk order_number return_quantity return_amt$ return_tax$ return_amt_inc_tax$ fee$ "
            "return_ship_cost$ refunded_cash$ reversed_charge$ account_credit$ net_loss$"
        ),
    ),
    "web_sales": (
        "ws_",
        (
            "sold_date_sk sold_time_sk ship_date_sk item_sk bill_customer_sk bill_cdemo_sk bill_hdemo_sk bill_addr_sk "
            "ship_customer_sk ship_cdemo_sk ship_hdemo_sk ship_addr_sk web_page_sk web_site_sk ship_mode_sk "
            "warehouse_sk promo_sk order_number quantity wholesale_cost$ list_price$ sales_price$ ext_discount_amt$ "
            "ext_sales_price$ ext_wholesale_cost$ ext_list_price$ ext_tax$ coupon_amt$ ext_ship_cost$ net_paid$ "
            "net_paid_inc_tax$ net_paid_inc_ship$ net_paid_inc_ship_tax$ net_profit$"
        ),
    ),
    "web_site": (
        "web_",
        (
            "site_sk site_id# rec_start_date:date rec_end_date:date name# open_date_sk close_date_sk class# manager# "
            "mkt_id mkt_class# mkt_desc# market_manager# company_id company_name# street_number# street_name# "
            "street_type# suite_number# city# county# state# zip# country# gmt_offset:decimal(5,2) "
            "tax_percentage:decimal(5,2)"
        ),
    ),
}

_TYPES = {"$": "decimal(7,2)", "#": "string"}


def _column(prefix: str, word: str) -> tuple[str, str]:
    name, _, type_ = word.partition(":")
    return prefix + name.rstrip("$#"), type_ or _TYPES.get(word[-1], "int")


TABLES: Mapping[str, Mapping[str, str]] = {
    table: dict(_column(prefix, word) for word in words.split()) for table, (prefix, words) in _TABLES.items()
}
"""The types of the columns, in order, by table."""
