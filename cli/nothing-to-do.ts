/** The answer of commands that concern servers, if the settings name none. */
export const NOTHING_TO_DO =
  'nothing to do: these settings name no servers, and the embedded stores need no preparation; set stores.redis, kafka and mysql for the distributed shape'
