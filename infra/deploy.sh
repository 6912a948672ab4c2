#!/bin/sh
# Build the package and deploy it to both apps; where events come by Event Grid, subscribe to them then.
#
#   infra/deploy.sh RESOURCE_GROUP [DEPLOYMENT]     after `az deployment group create --name DEPLOYMENT` (throughline)
#   infra/deploy.sh                                 from azd, which passes the outputs of main.bicep on
set -eu
cd "$(dirname "$0")/.."

group="${1:-${AZURE_RESOURCE_GROUP:-}}"
if [ -z "$group" ]; then
  echo "Say which resource group: infra/deploy.sh RESOURCE_GROUP [DEPLOYMENT]" >&2
  exit 2
fi
command -v az >/dev/null || {
  echo "The Azure CLI is needed (az), signed in by: az login" >&2
  exit 2
}

output() { # the value of an output: azd has put it into the environment, az keeps it with the deployment
  eval "value=\${$1:-}"
  if [ -z "$value" ]; then
    value="$(az deployment group show --resource-group "$group" --name "$deployment" \
      --query "properties.outputs.$1.value" --output tsv)"
  fi
  printf '%s' "$value"
}

deployment="${2:-throughline}"
if [ $# -gt 0 ]; then # outputs of another environment may be left in this shell
  unset RECEIVER_NAME RECEIVER_URL WORKER_NAME WORKER_PRINCIPAL_ID DELIVERY EVENT_TOPIC_NAME STORAGE_ACCOUNT_NAME
fi
receiver="$(output RECEIVER_NAME)"
worker="$(output WORKER_NAME)"
delivery="$(output DELIVERY)"

make package DELIVERY="$delivery"
for app in "$receiver" "$worker"; do
  echo "deploying to $app"
  az functionapp deployment source config-zip --resource-group "$group" --name "$app" \
    --src build/package/throughline.zip --build-remote false --output none
done

if [ "$delivery" = eventGrid ]; then
  echo "subscribing the parser to new events"
  az deployment group create --resource-group "$group" --name throughline-subscription --output none \
    --template-file infra/subscription.bicep \
    --parameters topicName="$(output EVENT_TOPIC_NAME)" workerName="$worker"
fi

echo
echo "The receiver: $(output RECEIVER_URL)/api/v1/lineage (RECEIVER in docs/azure.md is $receiver)"
echo "The storage account: $(output STORAGE_ACCOUNT_NAME) (STORAGE there)"
echo "Left to do: grant Data Curator in Purview to the worker's identity, principal $(output WORKER_PRINCIPAL_ID) (docs/azure.md)"
